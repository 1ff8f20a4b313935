/* mcpctl.h: what the files of mcpctl share.
 *
 * commands.c has the table of commands, options.c the table of options; each command is a file with one
 * function, which talks to the server through session.c and prints through text.c.
 */
#ifndef MCPCTL_H
#define MCPCTL_H

#include <stdio.h>

#include <common/options.h>
#include <common/text.h>
#include <mcp/client.h>
#include <mcp/io.h>

/* What mcpctl ends with. Commands return one of these. */
#define EXITS(X)                                                                    \
    X(EXIT_OK, 0, "All went well.")                                                 \
    X(EXIT_REMOTE, 1, "The server answered with an error.")                         \
    X(EXIT_USAGE, 2, "The command line was wrong; nothing was started.")            \
    X(EXIT_CONNECT, 3, "The server could not be started, or it ended too early.")   \
    X(EXIT_PROTOCOL, 4, "The server did not answer in time or broke the protocol.") \
    X(EXIT_LOCAL, 5,                                                                \
      "Something failed on this side: output that cannot be written, or is "        \
      "refused to a terminal; memory.")
typedef enum exit_code {
#define EXIT_ENUM(name, number, text) name = (number),
    EXITS(EXIT_ENUM)
#undef EXIT_ENUM
} exit_code;

typedef struct settings {
    const char *revision;
    uint64_t timeout_ms;
    bool json, long_form, force, quiet, verbose, help, version, help_man;
} settings;

typedef struct command command;

/* One run of mcpctl. */
typedef struct ctl {
    settings set;
    const command *command; /* NULL: none was named */
    const char **args;
    size_t n_args;
    const char *const *server; /* NULL-terminated; NULL: no "--" */
    bool out_is_terminal;
    int write_errno; /* why stdout could not be written, the first time */

    /* session.c */
    mcp_loop *loop;
    mcp_client *client;
    mcp_child *child;
    int64_t first_answer_us; /* from before the start of the server */
    bool interrupted;        /* a signal came: nothing is reported any more */
} ctl;

struct command {
    const char *name;
    const char *args; /* as the usage shows them; "" for none */
    size_t min_args, max_args;
    int (*run)(ctl *c);
    const char *summary;
    const char *details; /* for the manual: paragraphs separated by a newline */
};

/* ---- commands.c: the table ------------------------------------------------------------------------- */

extern const command commands[];
extern const size_t n_commands;
const command *command_find(const char *name);

int run_info(ctl *c); /* info.c */
int run_ls(ctl *c);   /* ls.c */
int run_read(ctl *c); /* read.c */

/* ---- options.c and help.c: the command line ---------------------------------------------------------- */

extern const option options[];
extern const size_t n_options;

/* EXIT_OK, or EXIT_USAGE after saying on stderr what is wrong. */
int options_parse(int argc, char **argv, ctl *ret);

/* c NULL: of mcpctl as a whole. */
void help_print(FILE *to, const command *c);
void help_man(FILE *to);

/* ---- session.c: the server as a child process --------------------------------------------------------- */

/* Starts the server and finds out what it speaks. A failure has been reported, and is the exit code. */
int session_open(ctl *c);
void session_close(ctl *c);

/* One request, waited for; see mcp_client_call(). on_result, called only with a result, may be NULL.
 * `what` is for the report of a failure: "read file:///a". Returns an exit code. */
typedef int result_fn(ctl *c, const mcp_json *result, void *user);
int session_call(ctl *c, const char *what, const char *method, const char *params,
                 result_fn *on_result, void *user);
/* A whole list, page by page. on_page returning other than EXIT_OK stops it, and is returned. */
int session_list(ctl *c, const char *what, const char *method, result_fn *on_page, void *user);

/* ---- output.c: what goes to stdout -------------------------------------------------------------------- */

/* A field of a line: for a script as it is but for control characters, for a terminal as text_put(). */
void put_field(const ctl *c, mcp_str s);
/* JSON text as it is; on a terminal, what could control it is written as \u escapes. */
void put_json_text(const ctl *c, mcp_str json);

/* Writes out what stdout has in its buffer. False: it cannot be written, now or before. */
bool flush_stdout(ctl *c);

#endif
