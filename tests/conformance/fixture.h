/* fixture.h: the items that the official conformance suite expects on a server. It uses only the
 * public API.
 *
 * The suite defines the names, texts and timing. tools.c, tasks.c, resources.c and prompts.c
 * explain an item only if its name does not.
 */
#ifndef CONFORMANCE_FIXTURE_H
#define CONFORMANCE_FIXTURE_H

#include <mcp/io.h>
#include <mcp/mcp.h>

/* A picture and a sound. */
enum { FIXTURE_PNG_SIZE = 70, FIXTURE_WAV_SIZE = 52 };
extern const unsigned char fixture_png[FIXTURE_PNG_SIZE];
extern const unsigned char fixture_wav[FIXTURE_WAV_SIZE];

#define FIXTURE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

int fixture_add_tools(mcp_server *server, mcp_error *error);
int fixture_add_resources(mcp_server *server, mcp_error *error);
int fixture_add_prompts(mcp_server *server, mcp_error *error);
int fixture_add_asks(mcp_server *server, mcp_error *error);
int fixture_add_task_tools(mcp_server *server, mcp_error *error);

/* For test_trigger_prompt_change: notifies subscribers that the list changed. */
int fixture_change_prompts(mcp_server *server);

#endif
