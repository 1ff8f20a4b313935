/* markdown_tree.h: Markdown as a tree, made by md4c, for programs that show it. It never becomes HTML.
 *
 * The nodes are an array in the order of the text: the first child of a node is the next node, and the
 * next sibling is the one at `end`. The calls of md4c 0.4 are not always balanced; the tree is.
 */
#ifndef PROGRAM_MARKDOWN_TREE_H
#define PROGRAM_MARKDOWN_TREE_H

#include <mcp/base.h>

enum {
    MARKDOWN_DEPTH = 50, /* of nodes; deeper ones are left out, but not their texts */
    MARKDOWN_NODES = 200000,
};

typedef enum markdown_kind {
    MARKDOWN_TEXT, /* has no children; a soft break is a newline */
    MARKDOWN_QUOTE,
    MARKDOWN_UL,
    MARKDOWN_OL, /* number: that of the first item */
    MARKDOWN_LI, /* number: 0, or that of a task: 1 if it is open, 2 if it is done */
    MARKDOWN_HR,
    MARKDOWN_H,    /* number: its level */
    MARKDOWN_CODE, /* text: the language */
    MARKDOWN_P,
    MARKDOWN_TABLE, /* number: of columns */
    MARKDOWN_THEAD,
    MARKDOWN_TBODY,
    MARKDOWN_TR,
    MARKDOWN_TH, /* number: 0, or 1 left, 2 centered, 3 right */
    MARKDOWN_TD,
    MARKDOWN_EM, /* the first span */
    MARKDOWN_STRONG,
    MARKDOWN_A,   /* text: the address, and the title */
    MARKDOWN_IMG, /* the same */
    MARKDOWN_CODESPAN,
    MARKDOWN_DEL,
    MARKDOWN_BR,
    MARKDOWN_KINDS,
} markdown_kind;

typedef struct markdown_part {
    uint32_t at, len; /* in the texts of the tree */
} markdown_part;

typedef struct markdown_node {
    markdown_kind kind;
    unsigned number;
    uint32_t end; /* index of the node after the last one inside */
    markdown_part text, title;
} markdown_node;

typedef struct markdown_tree {
    markdown_node *nodes;
    size_t count;
    char *text;
    size_t len;
} markdown_tree;

/* Makes the tree of a text, which is not needed afterwards. Returns MCP_OK, MCP_ELIMIT (too many nodes,
 * or inside each other; the text or the addresses of its links are too long) or MCP_ENOMEM. Clear the tree in each case. */
int markdown_parse(mcp_str text, markdown_tree *ret);
mcp_str markdown_str(const markdown_tree *t, markdown_part part);
void markdown_clear(markdown_tree *t);

#endif
