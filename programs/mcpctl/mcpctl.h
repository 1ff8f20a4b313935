/* mcpctl.h: what the files of mcpctl share.
 *
 * commands.c has the table of commands, options.c the table of options; each command is a file with
 * one function, which talks to the server through session.c and prints through output.c.
 */
#ifndef MCPCTL_H
#define MCPCTL_H

#include <stdio.h>

#include <common/options.h>
#include <common/text.h>
#include <mcp/client.h>
#include <mcp/io.h>

/* What mcpctl ends with. Commands return one of these. */
#define EXITS(X)                                                                              \
    X(EXIT_OK, 0, "Success.")                                                                 \
    X(EXIT_REMOTE, 1, "The server answered with an error, or the tool reported a failure.")   \
    X(EXIT_USAGE, 2, "The command line is wrong, or arguments do not fit the tool's schema.") \
    X(EXIT_CONNECT, 3, "The server could not be started or reached, or it ended too early.")  \
    X(EXIT_PROTOCOL, 4, "The server did not answer in time or violated the protocol.")        \
    X(EXIT_LOCAL, 5,                                                                          \
      "A local failure: output that cannot be written or is refused to a terminal, or "       \
      "no memory.")                                                                           \
    X(EXIT_REFUSED, 6, "A question was answered with no, or could not be asked.")             \
    X(EXIT_NOTHING, 7, "find or context found nothing.")
typedef enum exit_code {
#define EXIT_ENUM(name, number, text) name = (number),
    EXITS(EXIT_ENUM)
#undef EXIT_ENUM
} exit_code;

/* What the options of one command line say. */
typedef struct settings {
    /* which server, and how to speak to it */
    const char *server, *revision, *trace, *sampler, *completion;
    texts config, headers, answers, roots;
    uint64_t timeout_ms, ping_ms;
    bool trust, yes;

    bool json, quiet, verbose, help, version, help_man;

    /* of the lists */
    texts globs;
    const char *type, *audience, *priority, *since, *sort;
    uint64_t min_size, max_size, limit, depth, pages;
    bool long_form, reverse;

    /* of single commands */
    const char *range, *lines, *output, *args, *budget;
    uint64_t tail, count;
    bool force, raw, read, fetch, explain;
} settings;

typedef struct command command;
typedef struct session session;

/* One command line: of mcpctl, or of its shell. */
typedef struct ctl {
    settings set;           /* first: the parser of the options is handed a pointer to both */
    const command *command; /* NULL: none was named */
    const char **args;
    size_t n_args;
    const char *const *server; /* what follows "--", NULL-terminated; NULL: no "--" */
    bool out_is_terminal;
    int write_errno; /* why stdout could not be written, the first time */
    session *session;
} ctl;

typedef enum command_flags {
    COMMAND_ALONE = 1,        /* needs no server */
    COMMAND_NOT_IN_SHELL = 2, /* makes no sense there */
    COMMAND_NO_SERVER = 4,    /* takes none, also not behind -- */
} command_flags;

struct command {
    const char *name;
    const char *args; /* as the usage shows them; "" for none */
    size_t min_args, max_args;
    unsigned flags;
    int (*run)(ctl *c);
    const char *summary;
    const char *details; /* for the manual: paragraphs separated by a newline */
    const char *json;    /* the form of --json; NULL: it has none */
};

/* ---- commands.c: the table ------------------------------------------------------------------- */

extern const command commands[];
extern const size_t n_commands;
const command *command_find(const char *name);

int run_call(ctl *c);
int run_complete(ctl *c);
int run_context(ctl *c);
int run_find(ctl *c);
int run_info(ctl *c);
int run_ls(ctl *c);
int run_ping(ctl *c);
int run_prompt(ctl *c);
int run_prompts(ctl *c);
int run_read(ctl *c);
int run_servers(ctl *c);
int run_shell(ctl *c);
int run_template(ctl *c);
int run_tools(ctl *c);
int run_trace(ctl *c);
int run_tree(ctl *c);
int run_watch(ctl *c);

/* ---- options.c and help.c: the command line -------------------------------------------------- */

extern const option options[];
extern const size_t n_options;

/* EXIT_OK, or EXIT_USAGE after saying on stderr what is wrong. ctl_clear() empties it. `shell` is a
 * command line of the shell: it names no server. */
int options_parse(int argc, char **argv, bool shell, ctl *ret);
void ctl_clear(ctl *c);

/* c NULL: of mcpctl as a whole. */
void help_print(FILE *to, const command *c);
void help_man(FILE *to);
void help_completion(FILE *to, const char *shell);

/* ---- main.c: signals ------------------------------------------------------------------------- */

/* The signal that came, if any, which is forgotten; the next one is caught again. */
int signals_take(void);
/* mcpctl ends as if it had come now. */
void raise_again(int number);

/* ---- session.c: the server, and calls that are waited for ------------------------------------ */

struct server; /* servers.h */

struct session {
    mcp_loop *loop;
    mcp_client *client;
    struct server *server;
    mcp_child *child; /* one of these two */
    mcp_http_client *http;
    bool ended; /* the server, or the connection */
    FILE *trace;
    bool verbose, quiet;
    bool noise_told;             /* that stdout of the server has other output */
    uint64_t stderr_written;     /* by the server, so far */
    uint64_t stderr_before;      /* what was written when the present call began */
    int64_t first_answer_us;     /* from before the start of the server */
    bool interrupted;            /* a signal came: nothing is reported any more */
    mcp_question *questions[16]; /* of the server, that wait for the user */
    size_t n_questions;
    struct answers *answers;         /* form.h */
    struct roots *roots;             /* roots.h */
    struct completions *completions; /* completions.h */
};

/* Starts the server or connects to it, and finds out what it speaks. A failure has been reported,
 * and is the exit code. session_close() is due in any case. */
int session_open(ctl *c);
void session_close(session *s);

/* One request, waited for. `params` may be NULL. on_result, called only with a result, may be NULL.
 * `what` is for the report of a failure: "read file:///a". Returns an exit code. */
typedef int result_fn(ctl *c, const mcp_json *result, void *user);
int session_call(ctl *c, const char *what, const char *method, const char *params,
                 result_fn *on_result, void *user);
/* A whole list, page by page. on_page returning other than EXIT_OK stops it, and is returned. */
int session_list(ctl *c, const char *what, const char *method, result_fn *on_page, void *user);
/* The same, but a failure is not reported: the caller can do without. */
int session_call_quietly(ctl *c, const char *method, const char *params, result_fn *on_result,
                         void *user);
int session_quietly(ctl *c, const char *method, result_fn *on_page, void *user);
/* tools/call, whose parameters may have to be headers too. */
int session_call_tool(ctl *c, const char *name, const char *arguments, result_fn *on_result,
                      void *user);
/* Runs until a signal came or *done is set by a callback, or `ms` are over (0: no end). */
void session_wait(ctl *c, const bool *done, uint64_t ms);
/* Whether the server declares it: "resources". */
bool session_offers(const ctl *c, const char *capability);

/* ---- output.c: what goes to stdout ----------------------------------------------------------- */

typedef enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_NAME, STYLE_GOOD, STYLE_BAD } style;

/* The escape sequence, on a terminal that wants colours; else "". */
const char *style_of(const ctl *c, style s);
/* A text of the server's in a style, in one line. */
void put_styled(const ctl *c, style s, mcp_str text);
/* A field of a line: for a script as it is but for control characters, for a terminal as
 * text_put(). */
void put_field(const ctl *c, mcp_str s);
/* Several lines, made safe for a terminal, where they end with a newline. */
void put_block(const ctl *c, mcp_str s);
/* What a definition says of itself, for a person: in lines of their own, indented. Nothing for an
 * empty text. */
void put_about(const ctl *c, mcp_str text);
/* The width of the terminal that is stdout; 0: it is none, or not known. */
size_t out_columns(const ctl *c);
/* A value, and a newline. EXIT_OK or EXIT_LOCAL. */
int put_json_line(const ctl *c, const mcp_json *value);
/* What the writer has, and a newline; frees it. `what` is for the report of a failure. */
int put_written(const ctl *c, const char *what, mcp_json_writer *w);
/* The same as a NUL-terminated text, to be freed; NULL after saying why not. */
char *take_written(const char *what, mcp_json_writer *w);

/* Writes out what stdout has in its buffer. False: it cannot be written, now or before. */
bool flush_stdout(ctl *c);

/* One JSON document around a list that is printed as it comes: {"resources":[ … ]}. */
typedef struct json_list {
    mcp_json_writer *w;
    size_t count;
} json_list;
void json_list_begin(json_list *l, const char *name);
int json_list_add(const ctl *c, json_list *l, const mcp_json *value);
void json_list_end(json_list *l, bool complete);

/* Members that are the command's own: "score": 1.5. */
void add_member(mcp_json_writer *w, const char *key, const mcp_json *value);

#endif
