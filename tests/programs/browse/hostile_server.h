/* hostile_server.h: an MCP server of generated hostile texts, in the process of a test that was started
 * with the argument "server" and a seed. Every text that a server can send is one of them.
 */
#ifndef TESTS_HOSTILE_SERVER_H
#define TESTS_HOSTILE_SERVER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"

/* Parts of a JSON string: controls, escape codes, text that looks like the program's own, characters that
 * change the order or the width of a text. */
static const char *const hostile_parts[] = {
    "\\u001b[2J",
    "\\u001b[1;1H",
    "\\u001bY  ",
    "\\u001bH\\u001bJ",
    "\\u001b]0;title\\u0007",
    "\\u001b]52;c;eA==\\u0007",
    "\\u001b]8;;http://x\\u001b\\\\",
    "\\u001bPq#0~-\\u001b\\\\",
    "\\u001b_Ga=T;AAAA\\u001b\\\\",
    "\\u001b^x\\u001b\\\\",
    "\\u001bc",
    "\\u001b(0",
    "\\u001b[?1049l",
    "\\u001b[?1000h",
    "\\u001b[6n",
    "\\u001b[31;7m",
    "\\u009b2J",
    "\\u009d0;t\\u009c",
    "\\u0090q",
    "\\u0085",
    "\\u0000",
    "\\u0007",
    "\\b\\b\\b",
    "\\r",
    "\\n",
    "\\r\\n",
    "\\t",
    "\\u000b",
    "\\f",
    "\\u000e",
    "\\u000f",
    "\\u0018",
    "\\u007f",
    "\xe2\x80\xae",
    "\xe2\x81\xa6",
    "\xe2\x80\x8f",
    "\xe2\x80\x8b",
    "\xe2\x80\x8d",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\xef\xb8\x8f",
    "\xef\xb8\x8e",
    "\xf3\xa0\x81\xa1",
    "\xcc\x81",
    "\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
    "\xe0\xb8\xb3",
    "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
    "\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd",
    "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
    "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa",
    "\xef\xbf\xbf",
    "\xee\x80\x80",
    "\xf4\x8f\xbf\xbf",
    "\xe1\x84\x80\xe1\x85\xa1",
    "\xd7\x90\xd8\xa7",
    "\xc2\xad",
    "\xe3\x85\xa4",
    "\xc2\xa0",
    " y call  n change  ^C leave",
    "Call this tool?\\n",
    "Send this answer? ",
    " Enter open  Tab pane",
    "  server      mine",
    "\xe2\x94\x82",
    "\\\"",
    "\\\\",
    "# ",
    "**b** ",
    "| a | b |\\n|---|---|\\n",
    "```\\n",
    "[x](http://y) ",
    "<b>",
    "{\\\"a\\\":[1,",
    "a,b\\nc,d\\n",
    "diff --git a b\\n+x\\n-y\\n",
    "error: ",
    "plain",
    "word ",
    " ",
};

static void hostile_text(FILE *to, unsigned most)
{
    fputc('"', to);
    for (unsigned n = dice(most); n; n--)
        fputs(hostile_parts[dice(sizeof(hostile_parts) / sizeof(*hostile_parts))], to);
    if (dice(40) == 0)
        for (unsigned n = 0; n < 5000; n++)
            fputs(dice(2) ? "\xcc\x88" : "x\\u001b", to);
    fputc('"', to);
}

static void hostile_member(FILE *to, const char *name)
{
    fprintf(to, ",\"%s\":", name);
    hostile_text(to, 8);
}

/* An object of the kind whose identity is the member `id`. */
static void hostile_entry(FILE *to, const char *id, unsigned n)
{
    static const char *const types[] = {"text/plain",     "text/markdown", "application/json",
                                        "text/csv",       "text/x-diff",   "text/x-log",
                                        "inode/directory"};
    fprintf(to, "{\"%s\":", id);
    if (strcmp(id, "name") == 0)
        hostile_text(to, 6);
    else
        fprintf(to, "\"mem:%u/{a}%u\"", dice(3), n);
    if (strcmp(id, "name") != 0)
        hostile_member(to, "name");
    if (dice(2))
        hostile_member(to, "title");
    hostile_member(to, "description");
    if (strcmp(id, "uri") == 0 && dice(4))
        fprintf(to, ",\"mimeType\":\"%s\"", types[dice(7)]);
    else if (strcmp(id, "uri") == 0)
        hostile_member(to, "mimeType");
    if (strcmp(id, "name") == 0) {
        fputs(",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"",
              to);
        hostile_member(to, "description");
        hostile_member(to, "default");
        fputs("},\"b\":{\"enum\":[", to);
        hostile_text(to, 4);
        fputs("]},", to);
        hostile_text(to, 4);
        fputs(":{\"type\":\"integer\"}}},\"annotations\":{\"readOnlyHint\":true,", to);
        hostile_text(to, 4);
        fputs(":true},\"arguments\":[{\"name\":", to);
        hostile_text(to, 4);
        hostile_member(to, "description");
        fputs("}]", to);
    }
    fputc('}', to);
}

static void hostile_list(FILE *to, const char *array, const char *id)
{
    fprintf(to, "{\"resultType\":\"complete\",\"%s\":[", array);
    for (unsigned n = 0; n < 30; n++) {
        fputs(n ? "," : "", to);
        hostile_entry(to, id, n);
    }
    fputs("]}", to);
}

static void hostile_block(FILE *to)
{
    fputs("{\"type\":\"text\",\"text\":", to);
    hostile_text(to, 60);
    fputc('}', to);
}

static void hostile_call(FILE *to, const char *line)
{
    if (!strstr(line, "inputResponses") && dice(2)) {
        fputs(
            "{\"resultType\":\"input_required\",\"requestState\":\"s\",\"inputRequests\":{\"q\":{",
            to);
        if (dice(2)) {
            fputs(
                "\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":9,\"messages\":[{"
                "\"role\":\"user\",\"content\":",
                to);
            hostile_block(to);
            fputs("}]", to);
            hostile_member(to, "systemPrompt");
        } else {
            fputs("\"method\":\"elicitation/"
                  "create\",\"params\":{\"mode\":\"form\",\"requestedSchema\":{"
                  "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"",
                  to);
            hostile_member(to, "title");
            hostile_member(to, "default");
            fputs("}}}", to);
            hostile_member(to, "message");
        }
        fputs("}}}}", to);
        return;
    }
    fputs("{\"resultType\":\"complete\",\"content\":[", to);
    hostile_block(to);
    fputs("],\"structuredContent\":{\"a\":[", to);
    hostile_text(to, 20);
    fputs("]}}", to);
}

static void hostile_answer(FILE *to, const char *method, const char *line)
{
    if (strcmp(method, "server/discover") == 0) {
        fputs(
            "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{"
            "\"resources\":{},\"prompts\":{},\"tools\":{},\"completions\":{},\"logging\":{}}}",
            to);
    } else if (strcmp(method, "resources/list") == 0) {
        hostile_list(to, "resources", "uri");
    } else if (strcmp(method, "resources/templates/list") == 0) {
        hostile_list(to, "resourceTemplates", "uriTemplate");
    } else if (strcmp(method, "prompts/list") == 0) {
        hostile_list(to, "prompts", "name");
    } else if (strcmp(method, "tools/list") == 0) {
        chance = 4711; /* the tools stay the same, so that they can be called */
        hostile_list(to, "tools", "name");
    } else if (strcmp(method, "resources/read") == 0) {
        fputs("{\"resultType\":\"complete\",\"contents\":[{\"uri\":\"mem:x\",\"text\":", to);
        hostile_text(to, 200);
        fputs("}]}", to);
    } else if (strcmp(method, "prompts/get") == 0) {
        fputs("{\"resultType\":\"complete\",\"messages\":[{\"role\":\"user\",\"content\":", to);
        hostile_block(to);
        fputs("}]}", to);
    } else if (strcmp(method, "completion/complete") == 0) {
        fputs("{\"resultType\":\"complete\",\"completion\":{\"values\":[", to);
        hostile_text(to, 6);
        fputs(",", to);
        hostile_text(to, 6);
        fputs("]}}", to);
    } else if (strcmp(method, "tools/call") == 0) {
        hostile_call(to, line);
    } else {
        fputs("null", to);
    }
}

/* Copies the string member of a message, which has no escapes. */
static void hostile_find(const char *line, const char *name, char to[64])
{
    const char *at = strstr(line, name);
    size_t n = at ? strcspn(at + strlen(name), "\"") : 0;
    snprintf(to, 64, "%.*s", (int)(n < 63 ? n : 63), at ? at + strlen(name) : "");
}

static void hostile_notice(FILE *to)
{
    static const char *const levels[] = {"info", "warning", "error"};
    fprintf(
        to,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"%s\"",
        levels[dice(3)]);
    hostile_member(to, "logger");
    hostile_member(to, "data");
    fputs("}}\n", to);
}

static int hostile_server(const char *seed)
{
    char *line = NULL, method[64];
    size_t room = 0;
    unsigned long first = strtoul(seed, NULL, 10);
    while (getline(&line, &room, stdin) > 0) {
        const char *id = strstr(line, "\"id\":");
        hostile_find(line, "\"method\":\"", method);
        if (!id || strcmp(method, "subscriptions/listen") == 0)
            continue;
        chance = 88172645463325252 + first * 7919 + strtoul(id + 5, NULL, 10);
        if (dice(4) == 0)
            hostile_notice(stdout);
        if (dice(4) == 0)
            fprintf(stderr, "\x1b[2J\xff\xfe\x9b\x31m\x07 raw %s\n", hostile_parts[dice(60)]);
        if (dice(20) == 0 && strcmp(method, "server/discover") != 0 && !strstr(method, "list")) {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%lu,\"error\":{\"code\":-32000,\"message\":",
                   strtoul(id + 5, NULL, 10));
            hostile_text(stdout, 10);
            fputs("}}\n", stdout);
        } else {
            printf("{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":", strtoul(id + 5, NULL, 10));
            hostile_answer(stdout, method, line);
            fputs("}\n", stdout);
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}

#endif
