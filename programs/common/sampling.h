/* sampling.h: a server's request for sampling, and answers to it. */
#ifndef PROGRAM_SAMPLING_H
#define PROGRAM_SAMPLING_H

#include <mcp/base.h>

/* Returns a text as the JSON of a CreateMessageResult of a model, which the caller frees. JSON that is one
 * already (it has content) stays as it is. Returns NULL if the text is not UTF-8 or out of memory. */
char *sampling_result(mcp_str text, const char *model);

/* Returns valid JSON with a line for each member, for a person who reads or changes a request. The caller
 * frees it; NULL if out of memory. */
char *sampling_indented(const char *json);

#endif
