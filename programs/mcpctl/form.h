/* form.h: forms of the server's, and --answer, which fills them in without a terminal. */
#ifndef MCPCTL_FORM_H
#define MCPCTL_FORM_H

#include "mcpctl.h"

/* What --answer gives. EXIT_OK, or after saying why not; NULL when there is none. */
typedef struct answers answers;
int answers_load(const ctl *c, answers **ret);
/* Says which were for no field of any form. Accepts NULL. */
void answers_free(answers *a, bool quiet);

/* Answers the question in any case. */
void form_answer(ctl *c, mcp_question *q);

#endif
