/* roots.h: the folders that a server gets as roots on request. */
#ifndef MCPCTL_ROOTS_H
#define MCPCTL_ROOTS_H

#include "mcpctl.h"

/* The folders named by --root, which must exist. roots_load() returns EXIT_OK, or another code
 * after reporting the error. */
typedef struct roots roots;
int roots_load(const ctl *c, roots **ret);
void roots_free(roots *r);

/* Sets the roots of a new client. If there are none, the capability is not declared. */
int roots_declare(session *s);

/* Tells the server if one of the folders is gone, or is back. Returns after how many milliseconds to
 * check again at the latest. */
uint64_t roots_check(session *s);
/* Answers a request for the roots. */
void roots_answer(session *s, mcp_question *q);

/* Returns the path of the i-th folder, or NULL at the end. */
const char *roots_path(const session *s, size_t i);

/* Runs a line of the shell: roots, root add DIR, root remove DIR. */
int roots_run(ctl *c, const char *const *line, size_t n);

#endif
