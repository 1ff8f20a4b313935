/* sample.h: requests of a server for the answer of a language model. The user sees the request, and then
 * writes the answer or lets a command write it (--sampler), which does not stop the browser. Requests and
 * answers can be changed with an editor, meanwhile the browser waits.
 */
#ifndef BROWSE_SAMPLE_H
#define BROWSE_SAMPLE_H

#include <mcp/client.h>
#include <mcp/provider.h>

#include "lines.h"

/* Shows all of the request, whose params these are. */
void sample_put(lines *l, const mcp_json *params);

typedef struct sampler sampler;
/* Gets what the command has written, or NULL if it failed. */
typedef void sampler_fn(const char *text, void *user);

/* Runs a shell command with the request on its stdin. Returns NULL if that is not possible; then `done`
 * is not called. */
sampler *sampler_start(const mcp_host *host, const char *command, mcp_str request, sampler_fn *done,
                       void *user);
/* Ends the command. `done` is no longer called. Must not be called after `done`. */
void sampler_stop(sampler *s);

#endif
