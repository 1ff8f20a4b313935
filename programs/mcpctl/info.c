/* info.c: mcpctl info. */
#include "mcpctl.h"

enum { LABEL = 14 };

static void label(const ctl *c, const char *text)
{
    printf("%s%-*s%s", style_of(c, STYLE_DIM), LABEL, text, style_of(c, STYLE_NONE));
}

static void line(const ctl *c, const char *name, mcp_str value)
{
    if (!value.len)
        return;
    label(c, name);
    text_put_wrapped(stdout, value, TEXT_LINE,
                     (text_lines){.width = out_columns(c), .indent = LABEL, .column = LABEL});
    putchar('\n');
}

/* Writes the members of a capability that are true, such as "subscribe, listChanged". */
static void put_switches(const mcp_json *capability)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const char *separator = " (";
    for (const mcp_json *v; (v = mcp_json_next(capability, &it, &key)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_BOOL) && !mcp_json_bool(v, false))
            continue;
        fputs(separator, stdout);
        text_put(stdout, key, TEXT_LINE);
        separator = ", ";
    }
    if (separator[0] == ',')
        putchar(')');
}

static void put_capabilities(const ctl *c, const mcp_json *capabilities)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const char *name = "capabilities:";
    for (const mcp_json *v; (v = mcp_json_next(capabilities, &it, &key)) != NULL; name = "") {
        label(c, name);
        text_put(stdout, key, TEXT_LINE);
        put_switches(v);
        putchar('\n');
    }
}

static int print_text(const ctl *c)
{
    static const struct {
        const char *label, *key;
    } lines[] = {
        {"name:", "name"},          {"title:", "title"},
        {"version:", "version"},    {"description:", "description"},
        {"website:", "websiteUrl"},
    };
    const mcp_json *info = mcp_client_server_info(c->session->client);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        line(c, lines[i].label, mcp_json_string(mcp_json_get(info, lines[i].key)));
    label(c, "revision:");
    printf("%s (%s)\n", mcp_client_revision(c->session->client),
           mcp_client_is_modern(c->session->client) ? "modern" : "legacy");
    put_capabilities(c, mcp_client_server_capabilities(c->session->client));
    label(c, "first answer:");
    printf("%lld.%lld ms\n", (long long)(c->session->first_answer_us / 1000),
           (long long)(c->session->first_answer_us % 1000 / 100));
    mcp_str instructions = mcp_client_instructions(c->session->client);
    if (instructions.len) {
        fputs("\n", stdout);
        text_put_wrapped(stdout, instructions, TEXT_BLOCK, (text_lines){.width = out_columns(c)});
        fputs("\n", stdout);
    }
    return EXIT_OK;
}

static int print_json(const ctl *c)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "revision", mcp_client_revision(c->session->client));
    mcp_json_put_bool(w, "modern", mcp_client_is_modern(c->session->client));
    mcp_json_key(w, "firstAnswerMs");
    mcp_json_add_real(w, (double)c->session->first_answer_us / 1000);
    add_member(w, "serverInfo", mcp_client_server_info(c->session->client));
    add_member(w, "capabilities", mcp_client_server_capabilities(c->session->client));
    if (mcp_client_instructions(c->session->client).len) {
        mcp_json_key(w, "instructions");
        mcp_json_add_str(w, mcp_client_instructions(c->session->client));
    }
    mcp_json_end(w);
    return put_written(c, "info", w);
}

int run_info(ctl *c)
{
    return c->set.json ? print_json(c) : print_text(c);
}
