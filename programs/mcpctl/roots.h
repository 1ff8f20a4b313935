/* roots.h: the folders that a server gets as roots if it requests them. */
#ifndef MCPCTL_ROOTS_H
#define MCPCTL_ROOTS_H

#include "mcpctl.h"

/* What --root names: folders that are there. EXIT_OK, or after saying what is wrong. */
typedef struct roots roots;
int roots_load(const ctl *c, roots **ret);
void roots_free(roots *r);

/* Gives them to a client that was just made. Without any the server learns that there are none to
 * ask for. */
int roots_declare(session *s);

/* The i-th folder; NULL: there are no more. */
const char *roots_path(const session *s, size_t i);

/* A line of the shell: roots, root add DIR, root remove DIR. */
int roots_run(ctl *c, const char *const *line, size_t n);

#endif
