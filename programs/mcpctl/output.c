/* output.c: writes to stdout, on a terminal and elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcpctl.h"

/* ---- text ------------------------------------------------------------------------------------ */

static bool wants_colours(const ctl *c)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return c->out_is_terminal && (!none || !*none) && term && strcmp(term, "dumb") != 0;
}

const char *style_of(const ctl *c, style s)
{
    static const char *const escapes[] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                          "\x1b[36m", "\x1b[32m", "\x1b[31m"};
    return wants_colours(c) ? escapes[s] : "";
}

void put_styled(const ctl *c, style s, mcp_str text)
{
    fputs(style_of(c, s), stdout);
    put_field(c, text);
    fputs(style_of(c, STYLE_NONE), stdout);
}

void put_field(const ctl *c, mcp_str s)
{
    if (c->out_is_terminal)
        text_put(stdout, s, TEXT_LINE);
    else
        text_put_field(stdout, s);
}

void put_block(const ctl *c, mcp_str s)
{
    if (!c->out_is_terminal) {
        text_put_raw(stdout, s);
        return;
    }
    text_put(stdout, s, TEXT_BLOCK);
    if (s.len && s.ptr[s.len - 1] != '\n')
        putchar('\n');
}

size_t out_columns(const ctl *c)
{
    return c->out_is_terminal ? text_columns(stdout) : 0;
}

void put_about(const ctl *c, mcp_str text)
{
    enum { INDENT = 4 };
    if (!text.len)
        return;
    printf("\n%*s", INDENT, "");
    text_put_wrapped(stdout, text, TEXT_BLOCK,
                     (text_lines){.width = out_columns(c), .indent = INDENT, .column = INDENT});
}

bool flush_stdout(ctl *c)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (!c->write_errno)
        c->write_errno = errno;
    return false;
}

/* ---- --output -------------------------------------------------------------------------------- */

int output_begin(ctl *c)
{
    if (!c->set.output)
        return EXIT_OK;
    fflush(stdout);
    int fd = open(c->set.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int saved = fd < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    bool ok = saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0;
    if (!ok)
        say("%s: %s", c->set.output, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok && saved >= 0)
        close(saved);
    if (!ok)
        return EXIT_LOCAL;
    c->saved_stdout = saved;
    c->out_is_terminal = false;
    return EXIT_OK;
}

int output_end(ctl *c, int code)
{
    if (!c->saved_stdout)
        return code;
    if (!flush_stdout(c)) {
        say("%s: %s", c->set.output, strerror(c->write_errno));
        code = EXIT_LOCAL;
        clearerr(stdout);
    }
    dup2(c->saved_stdout, STDOUT_FILENO);
    close(c->saved_stdout);
    c->saved_stdout = 0;
    return code;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Writes JSON text unchanged. On a terminal, characters that could control it become \u escapes. */
static void write_json(const ctl *c, mcp_str json)
{
    if (c->out_is_terminal)
        text_put_json(stdout, json);
    else
        text_put_raw(stdout, json);
}

char *take_written(const char *what, mcp_json_writer *w)
{
    mcp_str text;
    int rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    char *copy = rc == MCP_OK ? text_dup(text) : NULL;
    if (rc == MCP_EINVAL)
        say("%s: it is not UTF-8 and cannot be sent", what);
    else if (!copy)
        say("%s: %s", what, mcp_error_text(rc == MCP_OK ? MCP_ENOMEM : rc));
    mcp_json_writer_free(w);
    return copy;
}

int put_written(const ctl *c, const char *what, mcp_json_writer *w)
{
    mcp_str text;
    int rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK) {
        write_json(c, text);
        putchar('\n');
    } else {
        say("%s: %s", what, mcp_error_text(rc));
    }
    mcp_json_writer_free(w);
    return rc == MCP_OK ? EXIT_OK : EXIT_LOCAL;
}

int put_json_line(const ctl *c, const mcp_json *value)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, value);
    return put_written(c, c->command->name, w);
}

void json_list_begin(json_list *l, const char *name)
{
    *l = (json_list){.name = name, .w = mcp_json_writer_new(NULL, 0)};
    l->to = open_memstream(&l->text, &l->len);
}

static int failed_list(const ctl *c, int rc)
{
    say("%s: %s", c->command->name, mcp_error_text(rc));
    return EXIT_LOCAL;
}

int json_list_add(const ctl *c, json_list *l, const mcp_json *value)
{
    enum { MOST = 1 << 30 };
    mcp_str text;
    mcp_json_writer_reset(l->w);
    mcp_json_add_value(l->w, value);
    int rc = l->to ? mcp_json_writer_finish(l->w, &text) : MCP_ENOMEM;
    long before = rc == MCP_OK ? ftell(l->to) : 0;
    if (rc == MCP_OK && (before < 0 || text.len > (size_t)(MOST - before)))
        rc = MCP_ELIMIT;
    if (rc != MCP_OK)
        return failed_list(c, rc);
    fputs(l->count++ ? ",\n" : "", l->to);
    if (c->out_is_terminal) /* as write_json() */
        text_put_json(l->to, text);
    else
        text_put_raw(l->to, text);
    return EXIT_OK;
}

/* Returns whether all elements are in l->text. */
static bool finish_list(json_list *l)
{
    bool ok = l->to && !ferror(l->to);
    mcp_json_writer_free(l->w);
    l->w = NULL;
    if (l->to && fclose(l->to) != 0)
        ok = false;
    l->to = NULL;
    return ok && l->text;
}

int json_list_end(const ctl *c, json_list *l, int code)
{
    bool ok = finish_list(l);
    if (code == EXIT_OK && !ok)
        code = failed_list(c, MCP_ENOMEM);
    if (code == EXIT_OK) {
        printf("{\"%s\":[%s", l->name, l->count ? "\n" : "");
        text_put_raw(stdout, (mcp_str){l->text, l->len});
        fputs(l->count ? "\n]}\n" : "]}\n", stdout);
    }
    free(l->text);
    l->text = NULL;
    return code;
}

int json_list_move(const ctl *c, json_list *l, int code, mcp_json_writer *w)
{
    bool ok = finish_list(l);
    if (code == EXIT_OK && !ok)
        code = failed_list(c, MCP_ENOMEM);
    if (code == EXIT_OK) {
        for (char *at = l->text; (at = strchr(at, '\n')) != NULL;) /* only between elements */
            *at = ' ';
        mcp_json_key(w, l->name), mcp_json_begin_array(w);
        if (l->count)
            mcp_json_add_raw(w, (mcp_str){l->text, l->len});
        mcp_json_end(w);
    }
    free(l->text);
    l->text = NULL;
    return code;
}

void add_member(mcp_json_writer *w, const char *key, const mcp_json *value)
{
    if (!value)
        return;
    mcp_json_key(w, key);
    mcp_json_add_value(w, value);
}
