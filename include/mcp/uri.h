/* mcp/uri.h: URIs (RFC 3986) and URI templates (RFC 6570, all four levels, expanded and matched).
 *
 * This header can be used without the others. Nothing here resolves relative references, removes
 * dot segments or accesses files: the caller must decide what a decoded value ("..", "/", NUL)
 * means. In particular a matched variable is *decoded*: "%2F" in a URI becomes "/". See
 * mcp_uri_match_raw().
 *
 * Threads: an mcp_uri_template is immutable, so any number of threads may use it at the same time.
 * Everything else belongs to one thread at a time.
 */
#ifndef MCP_URI_H
#define MCP_URI_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- RFC 3986 -------------------------------------------------------------------------------- */

/* The longest URI that mcp_uri_parse() accepts, in bytes. */
#define MCP_URI_MAX_LENGTH 8192

/* The parts of a URI. Each part is a slice of the parsed text, still percent-encoded, and is valid
 * as long as that text. Parts without a has_* flag are empty if absent. A "?" at the end means that
 * there is an empty query. The host of "http://[::1]/" is "::1" with is_ip_literal set. IPvFuture
 * literals are treated in the same way. */
typedef struct mcp_uri {
    mcp_str text;     /* the whole URI */
    mcp_str scheme;   /* as written; compare it with mcp_uri_scheme_is() */
    mcp_str userinfo; /* without "@" */
    mcp_str host;
    mcp_str path;
    mcp_str query;    /* without "?" */
    mcp_str fragment; /* without "#" */
    int port;         /* -1 if there is none, or if it is empty as in "http://host:/" */
    bool has_authority;
    bool has_userinfo;
    bool has_query;
    bool has_fragment;
    bool is_ip_literal; /* the host was in brackets */
} mcp_uri;

/* Splits a URI (RFC 3986 section 3) into its parts. The whole text must be a URI: a relative
 * reference, white space, NUL, a byte outside ASCII, or an invalid "%" is rejected. error may be
 * NULL. Nothing has to be freed. Returns MCP_OK, MCP_EPARSE (error->offset is the position),
 * MCP_ELIMIT (longer than MCP_URI_MAX_LENGTH, or a port above 65535) or MCP_ENOMEM. */
MCP_API int mcp_uri_parse(mcp_str text, mcp_uri *ret, mcp_error *error);

/* Returns whether the URI has this scheme, ignoring case (RFC 3986 section 3.1). scheme must be in
 * lower case, without ":". */
MCP_API bool mcp_uri_scheme_is(const mcp_uri *uri, const char *scheme);

/* Decodes every %XX (RFC 3986 section 2.1). The result is never longer than text; it may contain
 * any byte, NUL included, and is not NUL-terminated. `to` has room for `size` bytes and may be
 * text.ptr itself, to decode in place. *ret_len gets the length. Returns MCP_OK, MCP_EPARSE (a "%"
 * without two hexadecimal digits) or MCP_ELIMIT (`to` is too small). */
MCP_API int mcp_uri_decode(mcp_str text, char *to, size_t size, size_t *ret_len);

/* The maximum length of `len` bytes after percent-encoding. */
#define MCP_URI_ENCODED_SIZE(len) (3 * (len))

/* Percent-encodes arbitrary bytes (a file name, UTF-8 or not) into one path segment: everything but
 * letters, digits and -._~!$&'()*+,=:@ becomes %XX in upper case, including "/". The characters
 * that are not encoded are those of RFC 3986's pchar except ";". `to` has room for
 * MCP_URI_ENCODED_SIZE(bytes.len) bytes and does not overlap bytes. Returns the length. The result
 * is not NUL-terminated. mcp_uri_decode() restores the original bytes. */
MCP_API size_t mcp_uri_encode_segment(mcp_str bytes, char *to);

/* Like mcp_uri_encode_segment(), for a path of several segments: "/" is not encoded. */
MCP_API size_t mcp_uri_encode_path(mcp_str bytes, char *to);

/* ---- RFC 6570: templates --------------------------------------------------------------------- */

typedef struct mcp_uri_template mcp_uri_template;

/* Limits of one template. 0 selects the default. */
typedef struct mcp_uri_template_limits {
    size_t size;            /* sizeof(mcp_uri_template_limits) */
    size_t max_bytes;       /* length of the template's text; default 8192, at most 1 GiB */
    size_t max_expressions; /* number of "{…}"; default 1024 */
    size_t max_variables;   /* number of variables, counting each occurrence; default 1024 */
} mcp_uri_template_limits;

/* Compiles a template (RFC 6570 section 2). Its text is copied. Literals may be UTF-8. Text that
 * the grammar does not allow, its reserved operators (= , ! @ |), and text that is not UTF-8 are
 * rejected. allocator and error may be NULL. Free the template with mcp_uri_template_free().
 * Returns MCP_OK, MCP_EPARSE (error->offset is the position), MCP_ELIMIT or MCP_ENOMEM. */
MCP_API int mcp_uri_template_parse(mcp_str text, const mcp_allocator *allocator,
                                   mcp_uri_template **ret, mcp_error *error);

/* Like mcp_uri_template_parse(), but with other limits. `limits` may be NULL. */
MCP_API int mcp_uri_template_parse_limited(mcp_str text, const mcp_uri_template_limits *limits,
                                           const mcp_allocator *allocator, mcp_uri_template **ret,
                                           mcp_error *error);

/* Frees a template. NULL is allowed. */
MCP_API void mcp_uri_template_free(mcp_uri_template *t);

/* Returns the original text, NUL-terminated. It lives as long as the template. */
MCP_API mcp_str mcp_uri_template_text(const mcp_uri_template *t);

/* Return the number of variables, and their names in the order of their first appearance, without
 * repetition. A name lives as long as the template; an index that is out of range gives the empty
 * string. A name may contain "%XX", which is part of it and is not decoded (section 2.3). */
MCP_API size_t mcp_uri_template_variable_count(const mcp_uri_template *t);
MCP_API mcp_str mcp_uri_template_variable(const mcp_uri_template *t, size_t index);

/* Compares how specific two templates are that match the same URI. Returns a negative number if a
 * is more specific, a positive number if b is, or 0 if they are equally specific, in which case the
 * server uses the one registered first. The more specific one has more literal characters, then
 * fewer variables, then fewer variables that can span several segments ({+var}, {#var}, {var*}).
 * Any sorting function can use it. */
MCP_API int mcp_uri_template_compare(const mcp_uri_template *a, const mcp_uri_template *b);

/* ---- expanding ------------------------------------------------------------------------------- */

/* What a variable can hold (RFC 6570 section 2.3). */
typedef enum mcp_uri_value_type {
    /* `string`. An mcp_uri_value of {0} is the empty string, which is defined. */
    MCP_URI_STRING = 0,
    MCP_URI_LIST,      /* items[0..count), whose names are ignored */
    MCP_URI_MAP,       /* the names and values of items[0..count), in this order */
    MCP_URI_UNDEFINED, /* as if absent; a list or map with count 0 is undefined too */
} mcp_uri_value_type;

typedef struct mcp_uri_pair {
    mcp_str name;
    mcp_str value;
} mcp_uri_pair;

/* The value of one variable; everything that it points to is borrowed during the call. Strings
 * should be UTF-8; other bytes are percent-encoded one by one. */
typedef struct mcp_uri_value {
    mcp_str name;
    mcp_str string;
    mcp_uri_value_type type;
    const mcp_uri_pair *items;
    size_t count;
} mcp_uri_value;

/* Initializes a string value in an array of values, as in MCP_URI_VALUE("path",
 * mcp_str_from(path)). */
#ifdef __cplusplus
#define MCP_URI_VALUE(variable, text)                         \
    {                                                         \
        MCP_STR(variable), (text), MCP_URI_STRING, nullptr, 0 \
    }
#else
#define MCP_URI_VALUE(variable, text)               \
    {                                               \
        .name = MCP_STR(variable), .string = (text) \
    }
#endif

/* The longest expansion, in bytes. */
#define MCP_URI_MAX_EXPANSION ((size_t)1 << 20)

/* Expands the template (RFC 6570 section 3). A variable that is not among the values is undefined;
 * of two values with the same name the first is used. *ret is NUL-terminated ASCII without a NUL
 * inside. The caller must free it with the same allocator, or with free() if allocator is NULL.
 * error may be NULL. Returns MCP_OK, MCP_EINVAL (a prefix modifier, {var:3}, on a list or map),
 * MCP_ELIMIT (longer than MCP_URI_MAX_EXPANSION) or MCP_ENOMEM. */
MCP_API int mcp_uri_template_expand(const mcp_uri_template *t, const mcp_uri_value *values,
                                    size_t count, const mcp_allocator *allocator, char **ret,
                                    mcp_error *error);

/* Expands the template in the common case that all values are strings. */
MCP_API int mcp_uri_template_expand_strings(const mcp_uri_template *t, const mcp_uri_pair *values,
                                            size_t count, const mcp_allocator *allocator,
                                            char **ret, mcp_error *error);

/* Expands the template with the members of a JSON object: strings, numbers and booleans become
 * strings, arrays of them lists, and objects of them maps. null becomes undefined, also inside an
 * array or object. `values` may be NULL, which means an object without members. Also returns
 * MCP_EINVAL for nested arrays or objects, and if `values` is neither an object nor NULL. */
MCP_API int mcp_uri_template_expand_json(const mcp_uri_template *t, const mcp_json *values,
                                         const mcp_allocator *allocator, char **ret,
                                         mcp_error *error);

/* ---- matching -------------------------------------------------------------------------------- */

/* Matching is the reverse of expanding: it finds the values for which the template expands to this
 * URI. RFC 6570 (section 1.4) does not define it. libmcp uses a fixed procedure without regular
 * expressions, recursion or backtracking, whose time is linear in the length of the URI and of the
 * template:
 *
 * - The URI and the template are compared in normal form (scheme in lower case, bytes outside ASCII
 *   as %XX in upper case, no %XX for letters, digits and -._~): "é", "%C3%A9" and "%c3%a9" are
 *   equal, and so are "~" and "%7E". A URI with an invalid "%" or a NUL does not match.
 * - {var} ends at "/", "?" and "#"; inside the query it ends at "&" and "#". {+var} ends at "?" and
 *   "#"; inside the query it ends at "#". In the fragment both extend to the end.
 * - {/var} matches one segment, {/a,b} up to two, {/list*} any number. {.var} and {#var} are not
 *   split. Several unnamed variables in one expression are split at its separator; if there are
 *   fewer pieces than variables, the last variables are absent.
 * - {?a,b}, {&a,b} and {;a,b} match any subset of their variables in any order. A URI with another
 *   name, or with a repeated name whose variable is not exploded, does not match. {?a}{&b} is the
 *   same as {?a,b}.
 * - If one expression follows another, as in {a}{/b} or {path}{;v}, the first ends at the first
 *   character of the second ("/" and ";" here), which the value of the first can contain only
 *   encoded.
 * - {var:3} matches at most three characters. A variable that occurs twice in the template must
 *   have the same value in both places. With {var:3} and {var}, the values must begin with the same
 *   characters.
 * - If a literal occurs more than once, as in {name}.{ext} with "a.tar.gz", the last occurrence is
 *   used (name is "a.tar"), unless only the first is possible, as in {first}.{+rest}.
 * - An exploded variable is matched as a list, because a list and a map cannot be distinguished
 *   ({?map*} would have to accept any name). An undefined {var} and an empty one expand to the same
 *   text and match as empty. */

/* Returns MCP_OK if URIs can be matched against the template, else MCP_EUNSUPPORTED with the reason
 * in *error. error may be NULL; error->offset is the position in the template's text. Ambiguous
 * templates are not matchable: {a}{b}, {a}{.b}, {+path}{/b}, {/list*,b}, {+a}/{b}/{+c}, {?a}x{b}, a
 * variable twice in one {?…} or twice with an explode. A server registers only matchable templates;
 * any template can be expanded. */
MCP_API int mcp_uri_template_matchable(const mcp_uri_template *t, mcp_error *error);

/* The result of a match: the values of the variables. */
typedef struct mcp_uri_match mcp_uri_match;

/* Matches a URI. The match refers to the template but not to uri; free it with
 * mcp_uri_match_free(). ret may be NULL to test only whether the URI matches. A URI of any length
 * is safe; the memory for the match is at most a small multiple of its length. Returns MCP_OK,
 * MCP_ENOTFOUND (the URI does not match), MCP_EUNSUPPORTED (the template is not matchable) or
 * MCP_ENOMEM. */
MCP_API int mcp_uri_template_match(const mcp_uri_template *t, mcp_str uri,
                                   const mcp_allocator *allocator, mcp_uri_match **ret);

/* Frees a match. NULL is allowed. */
MCP_API void mcp_uri_match_free(mcp_uri_match *m);

/* Gets the decoded value of a variable. Returns false, and sets *value to the empty string, if the
 * variable is absent or the template has no such variable. The value may contain any byte,
 * including NUL, and need not be UTF-8. For an exploded variable *value is the first element; for a
 * list that is not exploded, such as "red,green" for {list}, it is the whole text. value may be
 * NULL. The value lives as long as the match. */
MCP_API bool mcp_uri_match_get(const mcp_uri_match *m, const char *name, mcp_str *value);

/* Gets the value as it is in the URI's normal form, not decoded, which distinguishes "a%2Fb" from
 * "a/b". For an exploded variable this is the whole text with its separators. For a named exploded
 * variable ({?a*}) it is the text from the first to the last occurrence, such as "a=1&a=2", with
 * everything in between. */
MCP_API bool mcp_uri_match_raw(const mcp_uri_match *m, const char *name, mcp_str *value);

/* Iterates over the elements of a list: those of an exploded variable, or else the value split at
 * unencoded commas (so a plain value is its only element). Zero-initialize the iterator. Returns
 * false at the end. */
typedef struct mcp_uri_match_iter {
    size_t raw, decoded; /* private */
    bool started;        /* private */
} mcp_uri_match_iter;
MCP_API bool mcp_uri_match_next(const mcp_uri_match *m, const char *name, mcp_uri_match_iter *iter,
                                mcp_str *value);

#ifdef __cplusplus
}
#endif
#endif
