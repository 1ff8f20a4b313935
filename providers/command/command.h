/* command.h: programs as MCP tools. This is the provider's only public header.
 *
 * A tool's command is a list of words, the program first; no shell ever sees it. {NAME} in a word
 * is an argument of the call, which the tool's schema has validated, "{{" a brace, every other
 * brace itself. An inserted value is never split into several words. A word with a missing argument
 * is left out. An argument at the beginning of a word must not begin with "-", where it would be
 * taken for an option, unless a word "--" precedes it or `allow_dash` names it.
 *
 * The program runs in a session and process group of its own, with only the given environment. Its
 * output is the result: text if it is UTF-8, else Base64. An exit status other than 0 is an error
 * of the tool (isError) that shows what the program wrote to stderr. The program is terminated with
 * its whole group (SIGTERM, then SIGKILL) if the call is cancelled, takes too long or writes too
 * much. Processes that are left when it ends are terminated too.
 */
#ifndef MCP_COMMAND_H
#define MCP_COMMAND_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero selects the default of every member. Everything is copied. */
typedef struct mcp_command {
    size_t size;
    const char *name; /* required; must be valid as a tool's name */
    const char *title;
    const char *description;
    /* JSON text; NULL: the arguments in the words, all of them required strings. */
    const char *input_schema;
    const char *const *words; /* n_words of them; at least one */
    size_t n_words;
    const char *const *allow_dash; /* names of arguments, n_allow_dash of them */
    size_t n_allow_dash;
    const char *folder;             /* working directory; NULL: the server's */
    const char *const *environment; /* "NAME=value", n_environment of them */
    size_t n_environment;
    const char *input;     /* text for its stdin, may contain {NAME}; NULL: empty */
    uint64_t timeout_ms;   /* 60,000 */
    size_t max_output;     /* bytes; 1 MiB */
    const char *mime_type; /* of the output; NULL: text/plain, or application/octet-stream for
                            * binary output */
    size_t concurrency;    /* how many may run at the same time; default 4 */
    uint64_t kill_ms;      /* milliseconds from SIGTERM to SIGKILL; default 2,000 */
    mcp_hint read_only, destructive, idempotent, open_world;
    const mcp_allocator *allocator;
} mcp_command;

/* Registers the tool. It needs the descriptors and timers of the server's host. MCP_EINVAL (a word
 * refers to an argument that is not in the schema, or that is not a text, number or boolean; or the
 * program itself would be an argument), MCP_EEXIST, MCP_ENOMEM; error->text has the details. */
int mcp_command_add(mcp_server *server, const mcp_command *command, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
