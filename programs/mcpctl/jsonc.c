/* jsonc.c: JSON with comments and trailing commas. */
#include "jsonc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 16 << 20 };

/* Behind the string that begins at i. */
static size_t skip_string(const char *text, size_t len, size_t i)
{
    for (i++; i < len && text[i] != '"'; i++)
        i += text[i] == '\\';
    return i < len ? i + 1 : len;
}

static size_t blank(char *text, size_t len, size_t i, bool block)
{
    while (i < len) {
        if (block && i + 1 < len && text[i] == '*' && text[i + 1] == '/') {
            text[i] = text[i + 1] = ' ';
            return i + 2;
        }
        if (text[i] == '\n' && !block)
            return i;
        if (text[i] != '\n')
            text[i] = ' ';
        i++;
    }
    return i;
}

void jsonc_strip(char *text, size_t len)
{
    size_t comma = SIZE_MAX; /* the last thing that was no space */
    for (size_t i = 0; i < len;) {
        char next = i + 1 < len ? text[i + 1] : 0;
        if (text[i] == '"') {
            i = skip_string(text, len, i);
            comma = SIZE_MAX;
        } else if (text[i] == '/' && (next == '/' || next == '*')) {
            text[i] = text[i + 1] = ' ';
            i = blank(text, len, i + 2, next == '*');
        } else {
            if ((text[i] == '}' || text[i] == ']') && comma != SIZE_MAX)
                text[comma] = ' ';
            if (text[i] == ',')
                comma = i;
            else if (!strchr(" \t\r\n", text[i]))
                comma = SIZE_MAX;
            i++;
        }
    }
}

static int read_file(const char *path, char **ret, size_t *len)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT || errno == ENOTDIR ? MCP_ENOTFOUND : MCP_EIO;
    char *text = malloc(LARGEST);
    *len = text ? fread(text, 1, LARGEST, f) : 0;
    int rc = !text ? MCP_ENOMEM : ferror(f) ? MCP_EIO : *len == LARGEST ? MCP_ELIMIT : MCP_OK;
    fclose(f);
    if (rc == MCP_OK)
        *ret = text;
    else
        free(text);
    return rc;
}

int jsonc_read(const char *path, mcp_json_doc **ret, size_t *line, mcp_error *error)
{
    char *text = NULL;
    size_t len = 0;
    int rc = read_file(path, &text, &len);
    if (rc != MCP_OK) {
        snprintf(error->text, sizeof(error->text), "%s",
                 rc == MCP_EIO ? strerror(errno) : mcp_error_text(rc));
        return rc;
    }
    jsonc_strip(text, len);
    rc = mcp_json_parse((mcp_str){text, len}, NULL, NULL, ret, error);
    *line = 1;
    for (size_t i = 0; rc != MCP_OK && i < len && i < error->offset; i++)
        *line += text[i] == '\n';
    free(text);
    return rc;
}
