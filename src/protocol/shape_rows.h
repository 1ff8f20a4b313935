/* shape_rows.h: the rows of the table of shapes, for shape.c and the table itself (shape_table.c).
 *
 * A shape says what a value may be. Its parts are stretches of four arrays, which shapes share.
 */
#ifndef MCP_SRC_SHAPE_ROWS_H
#define MCP_SRC_SHAPE_ROWS_H

#include "protocol/revision.h"

/* Sets of types. T_WHOLE demands that a number with a fraction or an exponent is an integer. */
enum {
    T_NULL = 1 << MCP_JSON_NULL,
    T_BOOL = 1 << MCP_JSON_BOOL,
    T_STRING = 1 << MCP_JSON_STRING,
    T_ARRAY = 1 << MCP_JSON_ARRAY,
    T_OBJECT = 1 << MCP_JSON_OBJECT,
    T_NUMBER = 1 << MCP_JSON_INT | 1 << MCP_JSON_REAL | 1 << MCP_JSON_BIGINT,
    T_WHOLE = 1 << 15,
    T_INTEGER = T_NUMBER | T_WHOLE,
    T_ANY = T_NULL | T_BOOL | T_STRING | T_ARRAY | T_OBJECT | T_NUMBER,
};
enum { NO_MOST = UINT8_MAX };

typedef struct mcp__shape {
    uint16_t types;
    uint16_t words; /* the only allowed strings: offset in mcp__shape_words */
    uint16_t items; /* the shape of the elements */
    uint16_t rest;  /* the shape of members that are not in `members` */
    uint16_t members;
    uint16_t branches; /* shapes of which one must fit */
    uint16_t tag;      /* the name of the member whose value names the branch; 0 if all are tried */
    uint8_t n_words, n_members, n_branches;
    uint8_t n_required; /* how many of the members, the first ones, must be there */
    uint8_t max_items;  /* 0 means any number */
    uint8_t least, most;
    bool bounded; /* least and most hold */
    bool base64;
} mcp__shape;

/* A member, or a branch with its word. */
typedef struct mcp__shape_member {
    uint16_t name, shape;
} mcp__shape_member;

typedef enum mcp__shape_kind { SHAPE_RESULT, SHAPE_PARAMS } mcp__shape_kind;

typedef struct mcp__shape_root {
    mcp__shape_kind kind;
    mcp_str method;
    uint16_t shapes[MCP__REVISIONS]; /* 0 accepts every value */
} mcp__shape_root;

extern const mcp_str mcp__shape_names[];
extern const uint16_t mcp__shape_words[];
extern const mcp__shape_member mcp__shape_members[], mcp__shape_branches[];
extern const mcp__shape mcp__shapes[];
extern const mcp__shape_root mcp__shape_roots[];
extern const size_t mcp__shape_n_roots;

#endif
