/* command.h: programs as MCP tools. This is the provider's only public header.
 *
 * A tool's command is a list of words, the program first; it is not interpreted by a shell. {NAME}
 * in a word is replaced by an argument of the call, which the tool's schema has validated. "{{"
 * stands for a brace, and every other brace for itself. An inserted value is never split into
 * several words. A word with a missing argument is left out. An argument at the beginning of a word
 * must not begin with "-", because the program would take it for an option, unless a word "--"
 * precedes it or `allow_dash` contains its name.
 *
 * The program runs in a session and process group of its own, with only the given environment. Its
 * output is the result: text if it is UTF-8, otherwise Base64. An exit status other than 0 becomes
 * a tool error (isError) that shows what the program wrote to stderr. The program is terminated
 * with its whole group (SIGTERM, then SIGKILL) if the call is cancelled, takes too long or writes
 * too much. Other processes of the group that remain when the program ends are killed.
 */
#ifndef MCP_COMMAND_H
#define MCP_COMMAND_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A member that is zero has its default value. All strings are copied. */
typedef struct mcp_command {
    size_t size;
    const char *name; /* required; must be a valid tool name */
    const char *title;
    const char *description;
    /* JSON text. NULL means that all arguments in the words are required strings. */
    const char *input_schema;
    const char *const *words; /* n_words of them, at least one */
    size_t n_words;
    const char *const *allow_dash; /* names of arguments, n_allow_dash of them */
    size_t n_allow_dash;
    const char *folder;             /* working directory; NULL means the server's */
    const char *const *environment; /* "NAME=value", n_environment of them; no
                                     * variables are inherited */
    size_t n_environment;
    const char *input;     /* text for its stdin, may contain {NAME}; NULL means empty */
    uint64_t timeout_ms;   /* default 60,000 */
    size_t max_output;     /* in bytes; default 1 MiB */
    const char *mime_type; /* of the output; NULL means text/plain, or application/octet-stream
                            * for binary output */
    size_t concurrency;    /* runs at the same time; default 4 */
    uint64_t kill_ms;      /* milliseconds from SIGTERM to SIGKILL; default 2,000 */
    mcp_hint read_only, destructive, idempotent, open_world;
    const mcp_allocator *allocator;
} mcp_command;

/* Registers the tool. It needs a host with descriptors and timers. Returns MCP_OK, MCP_EEXIST,
 * MCP_ENOMEM, or MCP_EINVAL if a word refers to an argument that is not in the schema or that is
 * not a string, number or boolean, or if the program itself would be an argument. error->text
 * has the details. */
int mcp_command_add(mcp_server *server, const mcp_command *command, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
