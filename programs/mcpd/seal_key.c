/* seal_key.c: see seal_key.h. */
#define _GNU_SOURCE
#include "seal_key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules.h"
#include "secret.h"

enum {
    MOST = 2,
    LINE = 1024,
    SHORTEST = 43, /* 32 bytes in Base64 */
    LONGEST_NAME = 128
};

/* The lines of a file. */
typedef struct lines {
    char items[MOST][LINE];
    size_t count;
} lines;

static int take_line(lines *to, size_t most, char *line, const char *path, mcp_error *error)
{
    size_t len = strlen(line);
    if (len == LINE - 1)
        return MODULES_FAIL(error, MCP_EINVAL, "%.150s: a line is too long", path);
    while (len && strchr(" \t\r\n", line[len - 1]))
        line[--len] = 0;
    if (!len || *line == '#')
        return MCP_OK;
    if (to->count == most)
        return MODULES_FAIL(error, MCP_EINVAL, "%.150s: it has more than %zu line%s", path, most,
                            most > 1 ? "s" : "");
    memcpy(to->items[to->count++], line, len + 1);
    return MCP_OK;
}

static int read_lines(const char *path, size_t most, lines *to, mcp_error *error)
{
    char line[LINE];
    FILE *f = secret_open(path, error);
    int rc = f ? MCP_OK : error->code;
    if (!f)
        return rc;
    while (rc == MCP_OK && fgets(line, sizeof(line), f))
        rc = take_line(to, most, line, path, error);
    if (rc == MCP_OK && ferror(f))
        rc = MODULES_FAIL(error, MCP_EIO, "%.150s: %s", path, strerror(errno));
    fclose(f);
    explicit_bzero(line, sizeof(line));
    if (rc == MCP_OK && !to->count)
        rc = MODULES_FAIL(error, MCP_EINVAL, "%.150s: it is empty", path);
    return rc;
}

int seal_key_read_secret(const char *path, char **ret, mcp_error *error)
{
    lines found = {.count = 0};
    char *copy = NULL;
    int rc = read_lines(path, 1, &found, error);
    if (rc == MCP_OK && !(copy = strdup(found.items[0])))
        rc = MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    explicit_bzero(&found, sizeof(found));
    if (rc == MCP_OK)
        *ret = copy;
    return rc;
}

/* A key: the name of the server, a zero, and the line. The seal digests all of it. */
typedef struct bound_key {
    char bytes[LONGEST_NAME + 1 + LINE];
    size_t len;
} bound_key;

static void bind(bound_key *to, const char *name, const char *line)
{
    size_t name_len = strlen(name) + 1, len = strlen(line);
    memcpy(to->bytes, name, name_len);
    memcpy(to->bytes + name_len, line, len);
    to->len = name_len + len;
}

static int use(const lines *found, const char *name, mcp_server *server, mcp_error *error)
{
    bound_key keys[MOST] = {{.len = 0}};
    for (size_t i = 0; i < found->count; i++)
        bind(&keys[i], name, found->items[i]);
    bool two = found->count > 1;
    int rc = mcp_server_set_seal(
        server,
        MCP_OPTIONS(mcp_seal_options, .key = keys[0].bytes, .key_len = keys[0].len,
                    .old_key = two ? keys[1].bytes : NULL, .old_key_len = two ? keys[1].len : 0),
        error);
    explicit_bzero(keys, sizeof(keys));
    return rc;
}

int seal_key_use(const char *path, const char *name, mcp_server *server, mcp_error *error)
{
    lines found = {.count = 0};
    if (strlen(name) > LONGEST_NAME)
        return MODULES_FAIL(error, MCP_EINVAL, "the name of the server has more than %d bytes",
                            LONGEST_NAME);
    int rc = read_lines(path, MOST, &found, error);
    for (size_t i = 0; rc == MCP_OK && i < found.count; i++)
        if (strlen(found.items[i]) < SHORTEST)
            rc = MODULES_FAIL(error, MCP_EINVAL,
                              "%.150s: a key has at least %d characters: openssl rand -base64 32",
                              path, SHORTEST);
    if (rc == MCP_OK && server)
        rc = use(&found, name, server, error);
    explicit_bzero(&found, sizeof(found));
    return rc;
}
