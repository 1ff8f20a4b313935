/* sampling.h: answers to a server's request for sampling. */
#ifndef PROGRAM_SAMPLING_H
#define PROGRAM_SAMPLING_H

#include <mcp/base.h>

/* Returns a text as the JSON of a CreateMessageResult of a model, which the caller frees. JSON that is one
 * already (it has content) stays as it is. Returns NULL if the text is not UTF-8 or out of memory. */
char *sampling_result(mcp_str text, const char *model);

#endif
