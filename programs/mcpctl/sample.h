/* sample.h: requests of the server for the answer of a language model. */
#ifndef MCPCTL_SAMPLE_H
#define MCPCTL_SAMPLE_H

#include "mcpctl.h"

/* Answers the question with the command of --sampler, or refuses it. On a terminal, the user decides. */
void sample_answer(const ctl *c, mcp_question *q);

#endif
