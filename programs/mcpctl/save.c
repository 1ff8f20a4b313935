/* save.c: see save.h. */
#define _GNU_SOURCE
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the Base64 text of a block, or NULL. */
static const mcp_json *data_of(const mcp_json *block)
{
    mcp_str type = mcp_json_string(mcp_json_get(block, "type"));
    const mcp_json *data = NULL;
    if (mcp_str_eq(type, MCP_STR("image")) || mcp_str_eq(type, MCP_STR("audio")))
        data = mcp_json_get(block, "data");
    else if (mcp_str_eq(type, MCP_STR("resource")))
        data = mcp_json_get(mcp_json_get(block, "resource"), "blob");
    return mcp_json_is(data, MCP_JSON_STRING) ? data : NULL;
}

bool save_is_binary(const mcp_json *block)
{
    return data_of(block) != NULL;
}

size_t save_count(const mcp_json *content)
{
    size_t count = 0;
    mcp_json_iter it = {0};
    for (const mcp_json *v; (v = mcp_json_next(content, &it, NULL)) != NULL;)
        count += save_is_binary(v);
    return count;
}

static int failed(const char *path)
{
    say("%s: %s", path, strerror(errno));
    return EXIT_LOCAL;
}

int save_check(const ctl *c)
{
    if (!c->set.output)
        return EXIT_OK;
    int fd = open(c->set.output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return failed(c->set.output);
    close(fd);
    return EXIT_OK;
}

/* Returns the name of the file with this number, which the caller frees: "a-2.png". */
static char *path_of(const char *output, size_t number)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    const char *dot = strrchr(name, '.');
    int stem = (int)(dot && dot != name ? (size_t)(dot - output) : strlen(output));
    char *path = NULL;
    int n = number == 1 ? asprintf(&path, "%s", output)
                        : asprintf(&path, "%.*s-%zu%s", stem, output, number, output + stem);
    return n < 0 ? NULL : path;
}

static int write_file(const ctl *c, const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return failed(path);
    bool ok = fwrite(bytes, 1, len, f) == len;
    if (fclose(f) != 0 || !ok)
        return failed(path);
    if (!c->set.quiet)
        say("wrote %zu bytes to %s", len, path);
    return EXIT_OK;
}

int save_block(const ctl *c, const mcp_json *block, size_t number)
{
    mcp_str data = mcp_json_string(data_of(block));
    char *path = path_of(c->set.output, number), *bytes = malloc(data.len + 1);
    size_t len = 0;
    int code = EXIT_LOCAL;
    if (!path || !bytes) {
        say("call %s: out of memory", c->args[0]);
    } else if (mcp_base64_decode(bytes, data, &len) != MCP_OK) {
        say("call %s: what it sent is not Base64: the server breaks the protocol", c->args[0]);
        code = EXIT_PROTOCOL;
    } else {
        code = write_file(c, path, bytes, len);
    }
    free(path);
    free(bytes);
    return code;
}
