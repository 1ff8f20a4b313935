/* form.h: forms that the server requests, and --answer, which fills them in without a terminal. */
#ifndef MCPCTL_FORM_H
#define MCPCTL_FORM_H

#include "mcpctl.h"

/* The values of --answer; NULL if there are none. answers_load() returns EXIT_OK, or another code
 * after reporting the error. */
typedef struct answers answers;
int answers_load(const ctl *c, answers **ret);
/* Reports answers that no form used, unless `quiet`. Accepts NULL. */
void answers_free(answers *a, bool quiet);

/* Asks the user to fill in the form and answers the question in every case. */
void form_answer(ctl *c, mcp_question *q);

#endif
