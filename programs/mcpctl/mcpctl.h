/* mcpctl.h: declarations for all files of mcpctl.
 *
 * commands.c has the table of commands, options.c the table of options; each command is a function
 * in a file of its own, which communicates with the server through session.c and prints through
 * output.c.
 */
#ifndef MCPCTL_H
#define MCPCTL_H

#include <stdio.h>

#include <common/options.h>
#include <common/text.h>
#include <mcp/client.h>
#include <mcp/io.h>

/* Exit codes. Commands return one of these. */
#define EXITS(X)                                                                              \
    X(EXIT_OK, 0, "Success.")                                                                 \
    X(EXIT_REMOTE, 1, "The server answered with an error, or the tool reported a failure.")   \
    X(EXIT_USAGE, 2, "The command line is wrong, or arguments do not fit the tool's schema.") \
    X(EXIT_CONNECT, 3, "The server could not be started or reached, or it ended too early.")  \
    X(EXIT_PROTOCOL, 4, "The server did not answer in time or violated the protocol.")        \
    X(EXIT_LOCAL, 5,                                                                          \
      "A local failure: the output cannot be written, or is binary and goes to a terminal, "  \
      "or there is no memory.")                                                               \
    X(EXIT_REFUSED, 6, "The user declined a question, or could not be asked.")                \
    X(EXIT_NOTHING, 7, "find or context found nothing.")                                      \
    X(EXIT_LOGIN, 8, "The server requires a login, or the login failed.")
typedef enum exit_code {
#define EXIT_ENUM(name, number, text) name = (number),
    EXITS(EXIT_ENUM)
#undef EXIT_ENUM
} exit_code;

/* What can be configured about logins, in the order of the table in login_settings.c. */
typedef enum login_key {
    LOGIN_GRANT,
    LOGIN_CLIENT_ID,
    LOGIN_CLIENT_SECRET,
    LOGIN_CLIENT_SECRET_FILE,
    LOGIN_CLIENT_METADATA_URL,
    LOGIN_KEY,
    LOGIN_SCOPE,
    LOGIN_ISSUER,
    LOGIN_CALLBACK_URL,
    LOGIN_ASSERTION_FILE,
    LOGIN_ASSERTION_COMMAND,
    LOGIN_IDP_TOKEN_ENDPOINT,
    LOGIN_IDP_CLIENT_ID,
    LOGIN_IDP_CLIENT_SECRET_FILE,
    LOGIN_OMIT_RESOURCE,
    LOGIN_ASSUME_PKCE,
    LOGIN_LEGACY_ENDPOINTS,
    LOGIN_DPOP,
    LOGIN_TRUSTED_ISSUER,
    LOGIN_KEYRING,
    LOGIN_KEYS,
} login_key;

/* The options of a command line. */
typedef struct settings {
    /* selection of the server and protocol */
    const char *server, *revision, *trace, *sampler, *completion;
    texts config, headers, answers, roots;
    uint64_t timeout_ms, ping_ms;
    bool trust, yes;

    bool json, quiet, verbose, help, version, help_man;

    /* for logins */
    const char *login[LOGIN_KEYS]; /* flags are below */
    const char *principal;
    bool device, omit_resource, assume_pkce, legacy_endpoints, dpop, keyring, no_browser;

    /* for commands that print lists */
    texts globs;
    const char *type, *audience, *priority, *since, *sort;
    uint64_t min_size, max_size, limit, depth, pages;
    bool long_form, reverse;

    /* for single commands */
    const char *range, *lines, *output, *args, *budget;
    uint64_t tail, count;
    bool force, raw, read, fetch, explain;
    const char *uri, *purge; /* undo */
    bool list, last;
    const char *theme, *images;
    texts servers; /* files of web */
    bool no_open;
} settings;

typedef struct command command;
typedef struct session session;

/* A command line of mcpctl or of its shell. */
typedef struct ctl {
    settings set;           /* must be first: the parser's pointer to it is also one to ctl */
    const command *command; /* NULL if none was given */
    const char **args;
    size_t n_args;
    const char *const *server; /* the words after "--", NULL-terminated; NULL if there is no "--" */
    bool out_is_terminal;
    int write_errno;  /* errno of the first failed write to stdout */
    int saved_stdout; /* stdout while --output replaces it, or 0 */
    session *session;
} ctl;

typedef enum command_flags {
    COMMAND_ALONE = 1,        /* runs without opening a session */
    COMMAND_NOT_IN_SHELL = 2, /* not available in the shell */
    COMMAND_NO_SERVER = 4,    /* uses no server and does not accept "--" */
} command_flags;

struct command {
    const char *name;
    const char *args; /* as shown in the usage; "" for none */
    size_t min_args, max_args;
    unsigned flags;
    int (*run)(ctl *c);
    const char *summary;
    const char *details; /* for the manual: paragraphs separated by newlines */
    const char *json;    /* the format of --json; NULL if the command has none */
};

/* ---- commands.c: the table ------------------------------------------------------------------- */

extern const command commands[];
extern const size_t n_commands;
const command *command_find(const char *name);

int run_auth(ctl *c);
int run_browse(ctl *c);
int run_call(ctl *c);
int run_complete(ctl *c);
int run_context(ctl *c);
int run_edit(ctl *c);
int run_find(ctl *c);
int run_info(ctl *c);
int run_login(ctl *c);
int run_logout(ctl *c);
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
int run_undo(ctl *c);
int run_watch(ctl *c);
int run_web(ctl *c);

/* ---- options.c, parse.c and help.c: the command line ----------------------------------------- */

extern const option options[];
extern const size_t n_options;

/* Returns EXIT_OK, or EXIT_USAGE after reporting the error on stderr. ctl_clear() releases *ret.
 * `shell` says that this is a line of the shell, which cannot select a server. */
int options_parse(int argc, char **argv, bool shell, ctl *ret);
void ctl_clear(ctl *c);

/* Prints the help for a command or, if `c` is NULL, for mcpctl as a whole. */
void help_print(FILE *to, const command *c);
void help_man(FILE *to);
void help_completion(FILE *to, const char *shell);

/* ---- main.c: signals ------------------------------------------------------------------------- */

/* Returns the signal that arrived, or 0, and resets it. The next signal is caught again. */
int signals_take(void);
/* Ends mcpctl as if the signal had arrived now. */
void raise_again(int number);

/* ---- session.c: the server, and synchronous calls -------------------------------------------- */

struct server; /* servers.h */

struct session {
    mcp_loop *loop;
    mcp_client *client;
    struct server *server;
    mcp_child *child; /* exactly one of these two is set */
    mcp_http_client *http;
    bool ended; /* whether the server or the connection has ended */
    FILE *trace;
    bool verbose, quiet;
    bool noise_told;         /* a warning about other output on the server's stdout was printed */
    uint64_t stderr_written; /* bytes that the server has written so far */
    uint64_t stderr_before;  /* the same, when the current call began */
    int64_t first_answer_us; /* time until the first answer, from before the server's start */
    bool interrupted;        /* a signal arrived, so nothing more is reported */
    bool unauthorized;       /* a request of the current call was refused with 401 */
    mcp_question *questions[16]; /* pending requests of the server that the user has to answer */
    size_t n_questions;
    struct answers *answers;         /* form.h */
    struct roots *roots;             /* roots.h */
    struct completions *completions; /* completions.h */
    struct login *login;             /* login.h; NULL if there is none */
};

/* Finds the server, and prepares the login at it and the trace. `account` is that of the login, or
 * NULL. Returns an exit code after reporting the error. */
int session_prepare(ctl *c, const char *account);
/* Starts the server or connects to it, and detects its revision. Returns an exit code; failures
 * have been reported. session_close() must be called in any case. */
int session_open(ctl *c);
void session_close(session *s);

/* Sends a request and waits for the result. `params` may be NULL. on_result is called only with a
 * result and may be NULL. `what` is for error messages: "read file:///a". Returns an exit code. */
typedef int result_fn(ctl *c, const mcp_json *result, void *user);
int session_call(ctl *c, const char *what, const char *method, const char *params,
                 result_fn *on_result, void *user);
/* Reads a list page by page. If on_page returns anything but EXIT_OK, session_list() stops and
 * returns that. */
int session_list(ctl *c, const char *what, const char *method, result_fn *on_page, void *user);
/* Like session_call(), but reports no errors; for callers that do not depend on the result. */
int session_call_quietly(ctl *c, const char *method, const char *params, result_fn *on_result,
                         void *user);
int session_quietly(ctl *c, const char *method, result_fn *on_page, void *user);
/* Sends tools/call. Parameters are repeated in headers where the tool's schema requires it. */
int session_call_tool(ctl *c, const char *name, const char *arguments, result_fn *on_result,
                      void *user);
/* Runs the loop until a signal arrives, a callback sets *done, or `ms` have passed (0 means no
 * limit). */
void session_wait(ctl *c, const bool *done, uint64_t ms);
/* Returns whether the server declares a capability, such as "resources". */
bool session_offers(const ctl *c, const char *capability);

/* ---- output.c: writing to stdout ------------------------------------------------------------- */

typedef enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_NAME, STYLE_GOOD, STYLE_BAD } style;

/* Returns the escape sequence of a style, or "" if stdout is not a terminal with colours. */
const char *style_of(const ctl *c, style s);
/* Writes text from the server on one line, in a style. */
void put_styled(const ctl *c, style s, mcp_str text);
/* Writes a field of a line: on a terminal like text_put(), otherwise with only control characters
 * escaped. */
void put_field(const ctl *c, mcp_str s);
/* Writes text of several lines. On a terminal, it is escaped like text_put() and always ends with a
 * newline. */
void put_block(const ctl *c, mcp_str s);
/* Writes the description of a definition on separate, indented lines. Writes nothing if the text is
 * empty. */
void put_about(const ctl *c, mcp_str text);
/* Returns the width of the terminal on stdout, or 0 if stdout is not a terminal or its width is
 * unknown. */
size_t out_columns(const ctl *c);
/* Writes a value and a newline. Returns EXIT_OK or EXIT_LOCAL. */
int put_json_line(const ctl *c, const mcp_json *value);
/* Writes the writer's text and a newline; frees the writer. `what` is for error messages. */
int put_written(const ctl *c, const char *what, mcp_json_writer *w);
/* Returns the writer's text, NUL-terminated, which the caller frees, or NULL after reporting the
 * error. */
char *take_written(const char *what, mcp_json_writer *w);

/* Makes the file of --output stdout, if one was given. Returns EXIT_OK, or EXIT_LOCAL after
 * reporting the error. */
int output_begin(ctl *c);
/* Brings the previous stdout back, for the next line of the shell. Returns `code`, or EXIT_LOCAL if
 * the file could not be written. */
int output_end(ctl *c, int code);

/* Flushes stdout. Returns false if writing failed, now or earlier. */
bool flush_stdout(ctl *c);

/* A JSON document around a list: {"resources":[ … ]}. It is kept in memory and printed at the end,
 * because it must be absent if something that belongs to it cannot be had. */
typedef struct json_list {
    const char *name;
    mcp_json_writer *w;
    FILE *to; /* writes the elements to `text`, on a line each; NULL if out of memory */
    char *text;
    size_t len, count;
} json_list;
void json_list_begin(json_list *l, const char *name);
int json_list_add(const ctl *c, json_list *l, const mcp_json *value);
/* Prints the document if `code` is EXIT_OK. Returns `code`, or EXIT_LOCAL if it cannot be printed. */
int json_list_end(const ctl *c, json_list *l, int code);
/* Adds the elements to *w as a member instead, if `code` is EXIT_OK. Returns like json_list_end(). */
int json_list_move(const ctl *c, json_list *l, int code, mcp_json_writer *w);

/* Adds a member that the command defines, such as "score": 1.5. */
void add_member(mcp_json_writer *w, const char *key, const mcp_json *value);

#endif
