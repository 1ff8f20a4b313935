/* remember.c: see remember.h.
 *
 * The file is written on the server's thread. It is small, and servers rarely say something new. It may
 * have the names of callers, so it is for the user of mcpd alone.
 */
#define _GNU_SOURCE
#include "remember.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/file.h>

#include "log.h"
#include "modules.h"

enum { MOST_BYTES = 16 << 20 };

/* There is one file for all sources, as there is one group of servers (upstream.c). */
static char *in_use;      /* its path, or NULL */
static char *written;     /* its text as this process has written it, or NULL */
static mcp_json_doc *doc; /* its text at the start, or NULL */
static bool has_failed;   /* a failure to write was logged */

/* ---- reading --------------------------------------------------------------------------------- */

static int parse(const char *path, mcp_str text, mcp_json_doc **ret, mcp_error *error)
{
    const mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = MOST_BYTES};
    int rc = text.len ? mcp_json_parse(text, &limits, NULL, ret, NULL) : MCP_OK;
    if (rc == MCP_ENOMEM)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK &&
        (!text.len || mcp_json_is(mcp_json_get(mcp_json_root(*ret), "said"), MCP_JSON_ARRAY)))
        return MCP_OK;
    return MODULES_FAIL(error, MCP_EINVAL, "%.150s: it is not a file of --remember", path);
}

static int load(const char *path, mcp_json_doc **ret, mcp_error *error)
{
    mcp_error why;
    char *text;
    size_t len;
    int rc = file_load(path, FILE_FOUND, MOST_BYTES, &text, &len, &why);
    if (rc == MCP_ENOTFOUND && errno == ENOENT)
        return MCP_OK;
    if (rc != MCP_OK)
        return MODULES_FAIL(error, rc == MCP_ENOTFOUND ? MCP_EIO : rc, "%.150s: %.150s", path,
                            why.text);
    rc = parse(path, (mcp_str){text, len}, ret, error);
    free(text);
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void say_failure(int why)
{
    char line[300];
    if (has_failed)
        return;
    has_failed = true;
    snprintf(line, sizeof(line), "%.200s cannot be written: %s", in_use, strerror(why));
    log_line("warning", line, NULL);
}

/* Writes the file, unless it has the same text. Without memory it stays as it is. */
static void on_introduced(void *user)
{
    const mcp_upstream_group *group = user;
    mcp_json_writer *w = mcp_json_writer_new(NULL, MOST_BYTES);
    mcp_str json;
    mcp_upstream_remember(group, w);
    bool ok = mcp_json_writer_finish(w, &json) == MCP_OK;
    char *text = ok ? calloc(1, json.len + 1) : NULL; /* strndup() might read beyond the text */
    if (text)
        memcpy(text, json.ptr, json.len);
    mcp_json_writer_free(w);
    if (!text || (written && strcmp(text, written) == 0)) {
        free(text);
        return;
    }
    int why = file_replace(in_use, text, strlen(text), false);
    free(written);
    written = why ? NULL : text;
    if (!why)
        return;
    free(text);
    say_failure(why);
}

/* ---- use ------------------------------------------------------------------------------------- */

static void forget(void)
{
    mcp_json_free(doc);
    free(in_use);
    free(written);
    doc = NULL;
    in_use = written = NULL;
    has_failed = false;
}

int remember_use(const char *path, mcp_upstream_group *group, mcp_error *error)
{
    mcp_json_doc *next = NULL;
    if (path && in_use && strcmp(path, in_use) == 0)
        return MCP_OK;
    char *copy = path ? strdup(path) : NULL;
    int rc = path && !copy ? MODULES_FAIL(error, MCP_ENOMEM, "out of memory") : MCP_OK;
    if (rc == MCP_OK && path)
        rc = load(path, &next, error);
    if (rc != MCP_OK) {
        mcp_json_free(next);
        free(copy);
        return rc;
    }
    forget();
    in_use = copy;
    doc = next;
    group->remembered = mcp_json_root(doc);
    group->introduced = in_use ? on_introduced : NULL;
    group->user = group;
    return MCP_OK;
}
