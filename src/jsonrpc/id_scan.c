/* id_scan.c: finds the id of a message that arrives in pieces and is too long to be kept. Nothing but the
 * value of the id is stored. The text need not be valid JSON, and a key with escapes is no key that
 * counts. */
#include <stdio.h>

#include "jsonrpc/envelope.h"

static bool is_key(const mcp__id_scan *s, const char *name)
{
    return s->key_len == strlen(name) && memcmp(s->key, name, s->key_len) == 0;
}

static void take(mcp__id_scan *s, char c)
{
    if (s->id_len == sizeof(s->id))
        s->n_ids = 2; /* as if there was none */
    else if (s->n_ids == 1)
        s->id[s->id_len++] = c;
}

static void in_string(mcp__id_scan *s, char c)
{
    bool ends = c == '"' && !s->escaped;
    s->escaped = c == '\\' && !s->escaped;
    s->in_string = !ends;
    if (s->taking)
        take(s, c);
    if (s->in_key && !ends && s->key_len < sizeof(s->key))
        s->key[s->key_len++] = c;
    s->in_key = s->in_key && !ends;
}

static void begin_value(mcp__id_scan *s)
{
    s->taking = is_key(s, "id");
    s->n_ids += s->taking && s->n_ids < 2;
    s->has_method = s->has_method || is_key(s, "method");
    s->key_len = 0;
}

static void end_value(mcp__id_scan *s)
{
    s->is_whole = s->is_whole || s->taking;
    s->taking = false;
}

static void outside_strings(mcp__id_scan *s, char c)
{
    bool top = s->depth == 1, ends = c == '}' || c == ']';
    bool begins = c == '{' || c == '[';
    if (top && (ends || c == ','))
        end_value(s);
    if (s->taking && !memchr(" \t\r\n", c, 4))
        take(s, c);
    if (top && c == ':')
        begin_value(s);
    if (c == '"') {
        s->in_string = true;
        s->in_key = top && s->at_key;
    }
    if ((s->depth == 0 && c == '{') || (top && c == ',' && s->is_object))
        s->at_key = s->is_object = true;
    else if (c == '"' || c == ':')
        s->at_key = false;
    s->depth += begins;
    s->depth -= ends && s->depth;
    s->is_over = s->is_over || (ends && !s->depth) || (s->depth && !s->is_object);
}

void mcp__id_scan_feed(mcp__id_scan *s, mcp_str bytes)
{
    for (size_t i = 0; i < bytes.len && !s->is_over; i++) {
        if (s->in_string)
            in_string(s, bytes.ptr[i]);
        else
            outside_strings(s, bytes.ptr[i]);
    }
}

mcp_str mcp__id_scan_end(mcp__id_scan *s)
{
    bool found = s->n_ids == 1 && s->is_whole;
    int len = snprintf(s->text, sizeof(s->text), "{%s%s%.*s}", s->has_method ? "\"method\":0" : "",
                       !found          ? ""
                       : s->has_method ? ",\"id\":"
                                       : "\"id\":",
                       found ? (int)s->id_len : 0, s->id);
    return (mcp_str){s->text, (size_t)len};
}
