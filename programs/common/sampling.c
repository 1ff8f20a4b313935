/* sampling.c: see sampling.h. */
#define _GNU_SOURCE
#include "sampling.h"

#include <stdio.h>
#include <string.h>

#include <mcp/json.h>

#include "text.h"

static void put_result(mcp_json_writer *w, mcp_str text, const char *model)
{
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "role", "assistant");
    mcp_json_put_string(w, "model", model);
    mcp_json_put_string(w, "stopReason", "endTurn");
    mcp_json_put_object(w, "content");
    mcp_json_put_string(w, "type", "text");
    mcp_json_put_str(w, "text", text);
    mcp_json_end(w), mcp_json_end(w);
}

char *sampling_result(mcp_str text, const char *model)
{
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    char *ret = NULL;
    mcp_json_parse(text, NULL, NULL, &doc, NULL);
    if (mcp_json_get(mcp_json_root(doc), "content"))
        mcp_json_add_value(w, mcp_json_root(doc));
    else
        put_result(w, text, model);
    if (w && mcp_json_writer_finish(w, &json) == MCP_OK)
        ret = text_dup(json);
    mcp_json_free(doc);
    mcp_json_writer_free(w);
    return ret;
}

static void newline(FILE *to, size_t depth)
{
    fprintf(to, "\n%*s", (int)depth * 2, "");
}

char *sampling_indented(const char *json)
{
    char *text = NULL;
    size_t size = 0, depth = 0;
    bool in_string = false;
    FILE *to = open_memstream(&text, &size);
    for (const char *at = json; to && *at; at++) {
        if (!in_string && strchr(" \t\r\n", *at))
            continue;
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
