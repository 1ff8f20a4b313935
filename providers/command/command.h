/* command.h: programs as MCP tools. The provider's only header for programs.
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

/* Zero is the default everywhere. Everything is copied. */
typedef struct mcp_command {
    size_t size;
    const char *name; /* required, as those of tools */
    const char *title;
    const char *description;
    const char
        *input_schema; /* JSON text; NULL: the arguments that are named, all strings and required */
    const char *const *words; /* n_words of them; at least one */
    size_t n_words;
    const char *const *allow_dash; /* names of arguments, n_allow_dash of them */
    size_t n_allow_dash;
    const char *folder;             /* to run in; NULL: ours */
    const char *const *environment; /* "NAME=value", n_environment of them */
    size_t n_environment;
    const char *input;     /* what it reads from stdin, with {NAME} too; NULL: nothing */
    uint64_t timeout_ms;   /* 60,000 */
    size_t max_output;     /* bytes; 1 MiB */
    const char *mime_type; /* of the output; NULL: text/plain, or application/octet-stream */
    size_t concurrency;    /* how many may run at one time; 4 */
    uint64_t kill_ms;      /* from SIGTERM to SIGKILL; 2,000 */
    mcp_hint read_only, destructive, idempotent, open_world;
    const mcp_allocator *allocator;
} mcp_command;

/* Registers the tool. It needs the server's host: descriptors and timers. MCP_EINVAL (a word names
 * an argument that the schema does not have, or one that is not a text, number or boolean; the program
 * itself would be an argument), MCP_EEXIST, MCP_ENOMEM; error->text says which and why. */
int mcp_command_add(mcp_server *server, const mcp_command *command, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
