/* markdown.c: a tree of Markdown (common/markdown) as JSON. */
#include "markdown.h"

#ifdef WEB_HAS_MD4C

#include <common/markdown/markdown_tree.h>

const bool markdown_exists = true;

static const char *const names[MARKDOWN_KINDS] = {[MARKDOWN_QUOTE] = "quote",
                                                  [MARKDOWN_UL] = "ul",
                                                  [MARKDOWN_OL] = "ol",
                                                  [MARKDOWN_LI] = "li",
                                                  [MARKDOWN_HR] = "hr",
                                                  [MARKDOWN_H] = "h",
                                                  [MARKDOWN_CODE] = "code",
                                                  [MARKDOWN_P] = "p",
                                                  [MARKDOWN_TABLE] = "table",
                                                  [MARKDOWN_THEAD] = "thead",
                                                  [MARKDOWN_TBODY] = "tbody",
                                                  [MARKDOWN_TR] = "tr",
                                                  [MARKDOWN_TH] = "th",
                                                  [MARKDOWN_TD] = "td",
                                                  [MARKDOWN_EM] = "em",
                                                  [MARKDOWN_STRONG] = "strong",
                                                  [MARKDOWN_A] = "a",
                                                  [MARKDOWN_IMG] = "img",
                                                  [MARKDOWN_CODESPAN] = "codespan",
                                                  [MARKDOWN_DEL] = "del",
                                                  [MARKDOWN_BR] = "br"};

static void put_str(mcp_json_writer *w, const char *key, mcp_str text)
{
    if (text.len)
        mcp_json_put_str(w, key, text);
}

static void put_number(mcp_json_writer *w, const char *key, unsigned number)
{
    mcp_json_put_uint(w, key, number);
}

static void put_attributes(mcp_json_writer *w, const markdown_tree *t, const markdown_node *n)
{
    static const char *const aligns[] = {"", "left", "center", "right"};
    switch (n->kind) {
    case MARKDOWN_OL: put_number(w, "start", n->number); break;
    case MARKDOWN_LI:
        if (n->number)
            mcp_json_put_bool(w, "task", n->number == 2);
        break;
    case MARKDOWN_H: put_number(w, "level", n->number); break;
    case MARKDOWN_CODE: put_str(w, "lang", markdown_str(t, n->text)); break;
    case MARKDOWN_TH:
    case MARKDOWN_TD: put_str(w, "align", mcp_str_from(aligns[n->number & 3])); break;
    case MARKDOWN_A:
    case MARKDOWN_IMG:
        put_str(w, n->kind == MARKDOWN_A ? "href" : "src", markdown_str(t, n->text));
        put_str(w, "title", markdown_str(t, n->title));
        break;
    default: break;
    }
}

/* Adds the nodes from one to the one before another, and those inside. */
static void put_nodes(mcp_json_writer *w, const markdown_tree *t, size_t from, size_t end)
{
    mcp_json_begin_array(w);
    for (size_t i = from; i < end; i = t->nodes[i].end) {
        const markdown_node *n = &t->nodes[i];
        if (n->kind == MARKDOWN_TEXT) {
            mcp_json_add_str(w, markdown_str(t, n->text));
            continue;
        }
        mcp_json_begin_object(w);
        mcp_json_put_string(w, "t", names[n->kind]);
        put_attributes(w, t, n);
        mcp_json_key(w, "c");
        put_nodes(w, t, i + 1, n->end);
        mcp_json_end(w);
    }
    mcp_json_end(w);
}

int markdown_put(mcp_json_writer *w, mcp_str text)
{
    markdown_tree tree = {0};
    int rc = text.len > MARKDOWN_BYTES ? MCP_ELIMIT : markdown_parse(text, &tree);
    if (rc == MCP_OK)
        put_nodes(w, &tree, 0, tree.count);
    markdown_clear(&tree);
    return rc;
}

#else

const bool markdown_exists = false;

int markdown_put(mcp_json_writer *w, mcp_str text)
{
    (void)w, (void)text;
    return MCP_EUNSUPPORTED;
}

#endif
