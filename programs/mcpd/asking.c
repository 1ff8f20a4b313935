/* asking.c: see asking.h. The process blocks until each answer arrives. This cannot deadlock,
 * because the parent never blocks on this process. Lines are sent with write(), because the sandbox
 * denies send(). */
#include "asking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isolated.h>

#include "modules.h"

enum { PEER = 4 };

static bool put(mcp_str text)
{
    while (text.len) {
        ssize_t n = write(PEER, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text.ptr += n;
        text.len -= (size_t)n;
    }
    return true;
}

/* Sends the writer's text as one line and frees the writer. The whole line is passed to write() at
 * once, because other threads may log at the same time. */
static bool put_line(mcp_json_writer *w)
{
    mcp_str text;
    bool ok = mcp_json_writer_finish(w, &text) == MCP_OK && text.len < MCP_ISOLATED_LINE;
    char *line = ok ? malloc(text.len + 1) : NULL;
    if (line) {
        memcpy(line, text.ptr, text.len);
        line[text.len] = '\n';
    }
    ok = line && put((mcp_str){line, text.len + 1});
    free(line);
    mcp_json_writer_free(w);
    return ok;
}

bool asking_mounted(const mcp_server *server)
{
    const char *prefix;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_key(w, "mounted");
    mcp_json_begin_array(w);
    for (size_t i = 0; (prefix = mcp_server_mount_prefix(server, i)) != NULL; i++)
        mcp_json_add_string(w, prefix);
    mcp_json_end(w);
    mcp_json_end(w);
    return put_line(w);
}

void asking_failed(int code, const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_int(w, "failed", code);
    mcp_json_put_string(w, "text", text);
    mcp_json_end(w);
    (void)put_line(w);
}

void asking_log(const char *level, const char *line, void *user)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    (void)user;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "log", level);
    mcp_json_put_string(w, "text", line);
    mcp_json_end(w);
    (void)put_line(w);
}

/* ---- access ---------------------------------------------------------------------------------- */

/* Reads a line of at most `room` bytes with its newline, which is removed. Nothing follows the
 * newline, because only one question is open at a time. Returns false if there is none. */
static bool read_answer(char *text, size_t room, size_t *len)
{
    *len = 0;
    while (*len == 0 || text[*len - 1] != '\n') {
        ssize_t got = read(PEER, text + *len, room - *len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        *len += (size_t)got;
    }
    text[--*len] = '\0';
    return true;
}

/* Sends a question. `scopes` says which one; see isolated.h. */
static bool put_question(const mcp_identity *identity, mcp_item item, const mcp_str *names,
                         size_t n, bool scopes)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    if (identity)
        mcp_json_put_string(w, "token", mcp_identity_token(identity));
    mcp_json_put_int(w, "item", item);
    mcp_json_key(w, "names");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        mcp_json_add_str(w, names[i]);
    mcp_json_end(w);
    if (scopes)
        mcp_json_put_bool(w, "scopes", true);
    mcp_json_end(w);
    return put_line(w);
}

static bool ask(const mcp_identity *identity, mcp_item item, const mcp_str *names, size_t n,
                bool *allowed)
{
    char text[MCP_ISOLATED_NAMES + 1];
    size_t len;
    if (!put_question(identity, item, names, n, false) || !read_answer(text, sizeof(text), &len) ||
        len != n)
        return false;
    for (size_t i = 0; i < n; i++)
        allowed[i] = text[i] == '1';
    return true;
}

/* Returns how many of the names fit into one line. JSON may need six bytes for each byte of a
 * name. */
static size_t some(const mcp_str *names, size_t n)
{
    enum { ROOM = MCP_ISOLATED_LINE / 6 - 1024 };
    size_t bytes = 0, i = 0;
    while (i < n && i < MCP_ISOLATED_NAMES && (!i || bytes + names[i].len + 3 < ROOM))
        bytes += names[i++].len + 3;
    return i;
}

static bool is_parent(const mcp_identity *identity)
{
    const char *principal = mcp_identity_principal(identity);
    return principal && strcmp(principal, ASKING_PARENT) == 0;
}

static void may_all(const mcp_identity *identity, mcp_item item, const mcp_str *names, size_t n,
                    bool *allowed, void *user)
{
    bool parent = is_parent(identity);
    (void)user;
    for (size_t i = 0; i < n; i++)
        allowed[i] = parent;
    for (size_t step; !parent && n; names += step, allowed += step, n -= step) {
        step = some(names, n);
        if (ask(identity, item, names, step, allowed))
            continue;
        for (size_t i = 0; i < step; i++)
            allowed[i] = false;
    }
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    bool allowed = false;
    may_all(identity, item, &name, 1, &allowed, user);
    return allowed;
}

static const char *scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    static char text[MCP_ISOLATED_SCOPES + 1];
    size_t len;
    (void)user;
    bool answered = !is_parent(identity) && put_question(identity, item, &name, 1, true) &&
                    read_answer(text, sizeof(text), &len);
    return answered && len ? text : NULL;
}

int asking_set(mcp_server *server, mcp_error *error)
{
    int rc = mcp_server_set_access(server, MCP_OPTIONS(mcp_access, .may = may, .may_all = may_all,
                                                       .scopes = scopes, .queries = true));
    return rc == MCP_OK ? rc : MODULES_FAIL(error, rc, "%s", mcp_error_text(rc));
}
