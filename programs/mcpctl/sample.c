/* sample.c: answers requests of the server for the answer of a language model, with the command of
 * --sampler.
 *
 * A person on a terminal sees the request before it goes to the model, and the answer before it goes to
 * the server, and may edit or refuse each of them (2025-11-25 and 2026-07-28, client/sampling, "User
 * Interaction Model"). Without a terminal, or with --yes, the option on the command line counts as
 * consent to both.
 */
#define _GNU_SOURCE
#include "sample.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/sampling.h>

#include "terminal.h"

static const char refused[] = "rejected by the user";

/* ---- commands -------------------------------------------------------------------------------- */

static char *contents_of(FILE *f)
{
    long len = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    rewind(f);
    char *text = len >= 0 ? calloc(1, (size_t)len + 1) : NULL;
    if (text && fread(text, 1, (size_t)len, f) != (size_t)len)
        text[0] = 0;
    return text;
}

/* Runs a command with `input` on stdin and returns its output, which the caller frees, or NULL if
 * the command failed. */
static char *run_filter(const char *line, const char *input)
{
    FILE *in = tmpfile(), *out = tmpfile();
    char *text = NULL;
    int status = -1;
    pid_t pid = -1;
    if (in && out && fputs(input, in) >= 0 && fflush(in) == 0) {
        rewind(in);
        fflush(NULL);
        pid = fork();
    }
    if (pid == 0) {
        dup2(fileno(in), 0), dup2(fileno(out), 1);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        text = contents_of(out);
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return text;
}

static const char *editor_command(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    if (visual && *visual)
        return visual;
    return editor && *editor ? editor : "vi";
}

/* Runs the editor of the user on a file. stdout may be a file, so the editor gets the terminal of
 * stderr. Ctrl-C belongs to the editor meanwhile. */
static bool run_editor(const char *path)
{
    const char *editor = editor_command();
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    char *line = NULL;
    int status = -1;
    if (asprintf(&line, "%s \"$@\"", editor) < 0)
        return false;
    fflush(NULL);
    sigaction(SIGINT, &ignore, &old);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", line, editor, path, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &old, NULL);
    free(line);
    if (status != 0)
        say("the editor failed: %s", editor);
    return status == 0;
}

/* Lets the user edit a text. Returns the new text, which the caller frees, or NULL after reporting
 * the error. `suffix` is that of the file. */
static char *edit(const char *text, const char *suffix)
{
    const char *folder = getenv("TMPDIR");
    char *path = NULL, *edited = NULL;
    if (asprintf(&path, "%s/mcpctl-XXXXXX%s", folder && *folder ? folder : "/tmp", suffix) < 0)
        return NULL;
    int fd = mkstemps(path, (int)strlen(suffix));
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool written = f && fputs(text, f) >= 0;
    written = f && fclose(f) == 0 && written;
    if (!written)
        say("%s: %s", path, strerror(errno));
    if (written && run_editor(path)) {
        f = fopen(path, "r"); /* some editors replace the file */
        edited = f ? contents_of(f) : NULL;
        if (f)
            fclose(f);
    }
    if (fd >= 0)
        unlink(path);
    free(path);
    return edited;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void newline(FILE *to, size_t depth)
{
    fprintf(to, "\n%*s", (int)depth * 2, "");
}

/* Returns JSON text with a line for each member, which the caller frees, or NULL if out of memory. */
static char *indented(const char *json)
{
    char *text = NULL;
    size_t size = 0, depth = 0;
    bool in_string = false;
    FILE *to = open_memstream(&text, &size);
    for (const char *at = json; to && *at; at++) {
        bool empty = strncmp(at, "[]", 2) == 0 || strncmp(at, "{}", 2) == 0;
        if (!in_string && strchr("]}", *at))
            newline(to, depth ? --depth : 0);
        fputc(*at, to);
        if (in_string && *at == '\\' && at[1])
            fputc(*++at, to);
        else if (*at == '"')
            in_string = !in_string;
        else if (!in_string && empty)
            fputc(*++at, to);
        else if (!in_string && strchr("[{", *at))
            newline(to, ++depth);
        else if (!in_string && *at == ',')
            newline(to, depth);
        else if (!in_string && *at == ':')
            fputc(' ', to);
    }
    if (to)
        fputc('\n', to), fclose(to);
    return text;
}

static bool is_object(const char *text)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    int rc = mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, &error);
    bool is = rc == MCP_OK && mcp_json_is(mcp_json_root(doc), MCP_JSON_OBJECT);
    mcp_json_free(doc);
    if (rc != MCP_OK)
        say("that is not JSON: %s", error.text);
    else if (!is)
        say("that is not a JSON object");
    return is;
}

static char *params_text(const mcp_question *q)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, mcp_question_params(q));
    return take_written("the server's request", w);
}

/* ---- the user -------------------------------------------------------------------------------- */

/* What the user may edit or refuse. */
typedef struct review {
    const char *question, *suffix;
    bool (*fits)(const char *text); /* reports what is wrong; NULL if any text fits */
} review;

/* Lets the user edit *text until it fits. */
static void revise(char **text, const review *r)
{
    char *now = edit(*text, r->suffix);
    while (now && r->fits && !r->fits(now)) {
        bool again = terminal_ask_yes("Edit it again? [y/N] ");
        char *next = again ? edit(now, r->suffix) : NULL;
        free(now);
        now = next;
    }
    if (!now)
        return;
    size_t before = strlen(*text), len = strlen(now);
    if (len && now[len - 1] == '\n' && !(before && (*text)[before - 1] == '\n'))
        now[len - 1] = 0; /* editors end each file with one */
    free(*text);
    *text = now;
}

/* Shows *text, which the user may edit. Returns whether the user accepts it. */
static bool accepts(char **text, const review *r)
{
    for (;;) {
        terminal_show_exactly(mcp_str_from(*text), 4);
        switch (terminal_choose(r->question, "yen")) {
        case 'y': return true;
        case 'e': revise(text, r); break;
        default: return false;
        }
    }
}

static bool accepts_request(const ctl *c, char **request)
{
    static const review r = {
        .question = "Run it? [y]es, [e]dit it first, [n]o: ", .suffix = ".json", .fits = is_object};
    char *shown = indented(*request);
    if (!shown)
        return false;
    free(*request);
    *request = shown;
    hint("it requests a language model's answer to this, from: %s", c->set.sampler);
    return accepts(request, &r);
}

static bool accepts_answer(char **text)
{
    static const review r = {.question = "Send this answer? [y]es, [e]dit it first, [n]o: ",
                             .suffix = ".txt"};
    hint("the answer:");
    return accepts(text, &r);
}

/* ---- answering ------------------------------------------------------------------------------- */

static void send_answer(mcp_question *q, const char *text)
{
    mcp_error error = {0};
    char *result = sampling_result(mcp_str_from(text), "command");
    if (!result) {
        mcp_question_fail(q, 0, "the sampler failed");
    } else if (mcp_question_sampled(q, result, &error) != MCP_OK) {
        say("the sampler's answer is invalid: %s", error.text);
        mcp_question_fail(q, 0, "the sampler failed");
    }
    free(result);
}

void sample_answer(const ctl *c, mcp_question *q)
{
    bool asks = terminal_can_ask() && !c->set.yes;
    char *request = params_text(q), *text = NULL;
    if (!request || (asks && !accepts_request(c, &request))) {
        mcp_question_fail(q, 0, refused);
    } else if (!(text = run_filter(c->set.sampler, request))) {
        say("the sampler failed: %s", c->set.sampler);
        mcp_question_fail(q, 0, "the sampler failed");
    } else if (asks && !accepts_answer(&text)) {
        mcp_question_fail(q, 0, refused);
    } else {
        send_answer(q, text);
    }
    free(text);
    free(request);
}
