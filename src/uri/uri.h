/* uri.h: shared by the files of this layer: character classes, and the structure of a compiled
 * template.
 *
 * A template is compiled into two forms. Expansion uses `parts`, the literals and expressions in
 * order. Matching uses a plan (prefix, gaps, groups), which plan.c describes.
 */
#ifndef MCP_SRC_URI_H
#define MCP_SRC_URI_H

#include <mcp/uri.h>

#include "base/base.h"

/* ---- chars.c --------------------------------------------------------------------------------- */

enum {
    MCP__URI_UNRESERVED = 1, /* RFC 3986 section 2.3 */
    MCP__URI_RESERVED = 2,   /* section 2.2 */
    MCP__URI_SEGMENT = 4,    /* mcp_uri_encode_segment() does not encode it */
    MCP__URI_SCHEME = 8,     /* section 3.1, after the first letter */
    MCP__URI_VARCHAR = 16,   /* RFC 6570 section 2.3, without %XX */
    MCP__URI_LITERAL = 32,   /* RFC 6570 section 2.1, without %XX; includes all bytes above ASCII */
};
extern const unsigned char mcp__uri_classes[256];

static inline bool mcp__uri_is(char c, int classes)
{
    return mcp__uri_classes[(unsigned char)c] & classes;
}

/* Characters that can end a variable when a URI is matched. */
enum {
    MCP__URI_STOP_SLASH = 1,
    MCP__URI_STOP_QUERY = 2,
    MCP__URI_STOP_HASH = 4,
    MCP__URI_STOP_AMP = 8,
    MCP__URI_STOP_SEMI = 16,
};
extern const unsigned char mcp__uri_stops[256];

static inline unsigned mcp__uri_stop(char c)
{
    return mcp__uri_stops[(unsigned char)c];
}

/* Returns the byte that "%XX" at s[at] represents, or -1 if there is no such triplet. */
int mcp__uri_triplet(mcp_str s, size_t at);

/* Writes "%XX" to to[0..3). */
void mcp__uri_escape(char *to, unsigned char byte);

/* Writes the normal form of the character at s[*at] to out, and moves *at past that character.
 * Returns the number of bytes written, or 0 if a "%" is malformed or the byte is NUL. */
MCP__SHARED size_t mcp__uri_normal(mcp_str s, size_t *at, char out[3]);

/* Returns the length of "scheme:" at the start of s, or 0. */
size_t mcp__uri_scheme_length(mcp_str s);

/* ---- template.c ------------------------------------------------------------------------------ */

/* Returns whether the normal form of the URI begins with the literal text before the first
 * expression. If it does not, mcp_uri_template_match() cannot succeed. It is fast and allocates no
 * memory. */
bool mcp__uri_template_prefix_matches(const mcp_uri_template *t, mcp_str uri);

/* The properties of an operator (RFC 6570, the table in appendix A). */
typedef struct mcp__uri_operator {
    char sign;  /* 0 for {var} */
    char first; /* the first character of the expansion; 0 if none */
    char sep;
    bool named;
    bool bare_empty;     /* an empty value is written as "name", not "name=" */
    bool allow_reserved; /* U+R */
} mcp__uri_operator;

typedef struct mcp__uri_variable {
    mcp_str name;   /* as written */
    mcp_str normal; /* name in normal form, as it appears in a query */
    uint32_t index;
    uint32_t uses;
    bool exploded; /* exploded in at least one occurrence */
} mcp__uri_variable;

/* An occurrence of a variable in an expression. */
typedef struct mcp__uri_spec {
    mcp__uri_variable *variable;
    uint32_t prefix; /* the number in the modifier, as in {var:3}; 0 if none */
    bool explode;
} mcp__uri_spec;

typedef struct mcp__uri_part {
    mcp_str text;                /* a literal, or "{…}" */
    const mcp__uri_operator *op; /* NULL for a literal */
    mcp__uri_spec *specs;
    size_t spec_count;
} mcp__uri_part;

/* ---- plan.c ---------------------------------------------------------------------------------- */

/* An expression, or several that are matched together: {?a}{&b} is one group. */
typedef struct mcp__uri_group {
    const mcp__uri_operator *op;
    mcp__uri_spec *specs;
    size_t spec_count;
    mcp__uri_spec **sorted; /* if the operator is named, specs sorted by normal name */
    unsigned stops;         /* characters that end it, MCP__URI_STOP_* */
} mcp__uri_group;

/* Adjacent expressions, and the literal after them. */
typedef struct mcp__uri_gap {
    mcp__uri_group *groups;
    size_t group_count;
    unsigned stops;    /* characters that no group of the gap contains */
    mcp_str literal;   /* in normal form; empty only in the last gap */
    uint32_t *borders; /* borders of the literal for the direction of its search; see plan.c */
    size_t offset;     /* offset in the template's text, for messages */
} mcp__uri_gap;

struct mcp_uri_template {
    mcp__arena arena; /* everything below */
    mcp__map names;   /* maps a name to its mcp__uri_variable */
    mcp_allocator allocator;
    mcp_str text;
    mcp__uri_part *parts;
    size_t part_count;
    mcp__uri_spec *specs;
    size_t spec_count;
    mcp__uri_variable *variables;
    size_t variable_count;
    size_t literal_length; /* total length of all literals in normal form */
    size_t wide_count;     /* variables that can span several segments */

    mcp_str prefix;  /* the literal before the first gap, in normal form */
    bool has_scheme; /* whether the prefix contains a scheme */
    mcp__uri_gap *gaps;
    size_t gap_count;
    size_t pivot; /* literals of gaps before it are searched from the left, others from the right */
    mcp_error unmatchable; /* code is MCP_OK if the template is matchable */
};

/* Fills prefix, gaps, pivot and unmatchable. Returns MCP_OK, even if the template is not matchable,
 * or MCP_ENOMEM. */
int mcp__uri_plan(mcp_uri_template *t);

/* ---- match.c --------------------------------------------------------------------------------- */

/* Writes the URI of a match in its canonical spelling, NUL-terminated. The expressions {?…}, {&…}
 * and {;…} are parameters, and are left out. All URIs that give the same values to the other
 * variables have the same canonical spelling. Literals are in normal form. In values, only those
 * characters are encoded that must be encoded in that place. Returns false if `room` is too
 * small. */
bool mcp__uri_match_spell(const mcp_uri_match *m, char *to, size_t room);

/* ---- expand.c -------------------------------------------------------------------------------- */

/* Looks up a value for expansion. Returns MCP_OK, MCP_ENOTFOUND if the variable is undefined, or a
 * failure that it has described in *error. The arena is for values that must be created; it is
 * reset before the next call. */
typedef int mcp__uri_lookup(const void *values, size_t count, mcp_str name, mcp__arena *arena,
                            mcp_uri_value *ret, mcp_error *error);

int mcp__uri_expand(const mcp_uri_template *t, mcp__uri_lookup *lookup, const void *values,
                    size_t count, const mcp_allocator *allocator, char **ret, mcp_error *error);

/* ---- origin.c: http and https URLs ----------------------------------------------------------- */

/* Returns whether data for the URL `from`, such as a token, may be sent to the URL `to`. Scheme,
 * host and port have to be equal (RFC 6454). An upgrade from http to https, both on their default
 * ports, is also allowed, because it does not weaken the protection. Returns false if either is not
 * an http(s) URL. */
MCP__SHARED bool mcp__url_same_origin(mcp_str from, mcp_str to);
/* Checks that the string is an absolute http or https URL without user, password and fragment.
 * Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
MCP__SHARED int mcp__url_check(mcp_str url, mcp_error *error);
/* Returns whether the host of an http(s) URL is localhost, in 127.0.0.0/8, or [::1]. Other names of
 * this machine are not recognized. */
MCP__SHARED bool mcp__url_is_loopback(mcp_str url);

#endif
