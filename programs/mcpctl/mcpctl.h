/* mcpctl.h: what the files of mcpctl share.
 *
 * commands.c has the table of commands, options.c the table of options; each command is a file with one
 * function, which talks to the server through session.c and prints through text.c.
 */
#ifndef MCPCTL_H
#define MCPCTL_H

#include <stdio.h>

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

typedef enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_SECONDS } option_kind;

typedef struct option {
    const char *name; /* without "--" */
    char letter;      /* the short form, or 0 */
    option_kind kind;
    size_t at;            /* offset in settings */
    const char *argument; /* what --help calls its value */
    const char *only;     /* the commands that have it, separated by '|'; NULL: all */
    const char *help;
} option;

extern const option options[];
extern const size_t n_options;
bool option_is_for(const option *o, const command *c);

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

/* ---- text.c: what a stranger wrote, shown safely -------------------------------------------------------- */

typedef enum text_mode {
    TEXT_LINE, /* of one line: every control character is shown, invisible ones that reorder text too */
    TEXT_BLOCK, /* of several lines: newlines and tabs stay */
} text_mode;

/* Writes s so that it does nothing to a terminal: controls come as \x1b, \u202e. */
void text_put(FILE *to, mcp_str s, text_mode mode);
/* How many characters that makes. */
size_t text_width(mcp_str s);
/* The same in at most `width` characters, filled up with spaces; cut with "…". */
void text_put_cell(FILE *to, mcp_str s, size_t width);
/* A field of a line that a script reads: only C0 controls are shown as \x09, so that a line is a record
 * and a tab separates. */
void text_put_field(const ctl *c, mcp_str s);
/* JSON text as it is; on a terminal, what could control it is written as \u escapes. */
void text_put_json(const ctl *c, mcp_str json);

/* Writes out what stdout has in its buffer. False: it cannot be written, now or before. */
bool text_flush(ctl *c);

/* A NUL-terminated copy of a view (JSON text); NULL: no memory. */
char *text_dup(mcp_str s);

/* "mcpctl: …" on stderr, made safe; and the line after it that says what to do. */
void say(const char *format, ...) MCP_PRINTF(1, 2);
void hint(const char *format, ...) MCP_PRINTF(1, 2);

#endif
