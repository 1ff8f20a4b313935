/* mcp/uri.h: URIs (RFC 3986) and URI templates (RFC 6570, all four levels, expanded and matched).
 *
 * Usable alone. Nothing here resolves relative references, removes dot segments or touches files:
 * what a decoded value means ("..", "/", NUL) is the business of whoever uses it. In particular a
 * matched variable is *decoded*: "%2F" in a URI comes out as "/". See mcp_uri_match_raw().
 *
 * Threads: an mcp_uri_template never changes once it is made, so any number of threads may use it at
 * once. Everything else belongs to one thread at a time.
 */
#ifndef MCP_URI_H
#define MCP_URI_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- RFC 3986 -------------------------------------------------------------------------------- */

/* The longest URI that mcp_uri_parse() takes, in bytes. */
#define MCP_URI_MAX_LENGTH 8192

/* A URI in pieces. Every piece is a slice of the text that was parsed, still percent-encoded, and
 * lives as long as that text. What has no has_* flag is empty when it is absent; "?" at the end is a
 * query that is there and empty. The host of "http://[::1]/" is "::1" with is_ip_literal set (IPvFuture
 * literals too). */
typedef struct mcp_uri {
    mcp_str text;     /* all of it */
    mcp_str scheme;   /* as written: compare with mcp_uri_scheme_is() */
    mcp_str userinfo; /* without "@" */
    mcp_str host;
    mcp_str path;
    mcp_str query;    /* without "?" */
    mcp_str fragment; /* without "#" */
    int port;         /* -1: none, or empty as in "http://host:/" */
    bool has_authority;
    bool has_userinfo;
    bool has_query;
    bool has_fragment;
    bool is_ip_literal; /* the host stood in brackets */
} mcp_uri;

/* Takes a URI (RFC 3986 section 3) apart. The whole text must be one: a relative reference, white
 * space, NUL, a byte outside of ASCII, or a bad "%" is refused. Allocates nothing that outlives the
 * call. error may be NULL. MCP_EPARSE (error->offset is the byte), MCP_ELIMIT (longer than
 * MCP_URI_MAX_LENGTH, port above 65535), MCP_ENOMEM. */
MCP_API int mcp_uri_parse(mcp_str text, mcp_uri *ret, mcp_error *error);

/* Whether the scheme is this one; case does not matter (RFC 3986 section 3.1). scheme is given in
 * lower case, without ":". */
MCP_API bool mcp_uri_scheme_is(const mcp_uri *uri, const char *scheme);

/* Decodes every %XX (RFC 3986 section 2.1). The result is never longer than text; it may contain any
 * byte, NUL included, and is not NUL-terminated. `to` has room for `size` bytes and may be text.ptr
 * itself, to decode in place. *ret_len gets the length. MCP_EPARSE (a "%" without two hexadecimal
 * digits), MCP_ELIMIT (`to` is too small). */
MCP_API int mcp_uri_decode(mcp_str text, char *to, size_t size, size_t *ret_len);

/* The room that encoding len bytes can need. */
#define MCP_URI_ENCODED_SIZE(len) (3 * (len))

/* Percent-encodes arbitrary bytes (a file name, UTF-8 or not) into one path segment: everything but
 * letters, digits and -._~!$&'()*+,=:@ becomes %XX in upper case, "/" too. That is RFC 3986's pchar
 * without ";". `to` has room for MCP_URI_ENCODED_SIZE(bytes.len) bytes and does not overlap bytes.
 * Returns the length; does not NUL-terminate. mcp_uri_decode() is the way back, for all bytes. */
MCP_API size_t mcp_uri_encode_segment(mcp_str bytes, char *to);

/* The same for a path of several segments: "/" stays. */
MCP_API size_t mcp_uri_encode_path(mcp_str bytes, char *to);

/* ---- RFC 6570: templates --------------------------------------------------------------------- */

typedef struct mcp_uri_template mcp_uri_template;

/* Limits of one template; 0 is the default. */
typedef struct mcp_uri_template_limits {
    size_t size;            /* sizeof(this) struct */
    size_t max_bytes;       /* length of the template's text, 8192; at most 1 GiB */
    size_t max_expressions; /* "{…}", 1024 */
    size_t max_variables;   /* counted where they stand, with repetition, 1024 */
} mcp_uri_template_limits;

/* Compiles a template (RFC 6570 section 2). Its text is copied. Literals may be UTF-8. Refused are
 * what the grammar does not allow, the operators that it reserves (= , ! @ |), and text that is not
 * UTF-8. allocator and error may be NULL. MCP_EPARSE (error->offset is the byte), MCP_ELIMIT,
 * MCP_ENOMEM. The template is yours until mcp_uri_template_free(). */
MCP_API int mcp_uri_template_parse(mcp_str text, const mcp_allocator *allocator,
                                   mcp_uri_template **ret, mcp_error *error);

/* The same with other limits; limits may be NULL. */
MCP_API int mcp_uri_template_parse_limited(mcp_str text, const mcp_uri_template_limits *limits,
                                           const mcp_allocator *allocator, mcp_uri_template **ret,
                                           mcp_error *error);

/* Accepts NULL. */
MCP_API void mcp_uri_template_free(mcp_uri_template *t);

/* The text as it was given, NUL-terminated; lives as long as the template. */
MCP_API mcp_str mcp_uri_template_text(const mcp_uri_template *t);

/* The names of the variables in the order of their first appearance, without repetition. A name lives
 * as long as the template; an index that is out of range gives the empty string. A name may contain
 * "%XX", which is part of it and is not decoded (section 2.3). */
MCP_API size_t mcp_uri_template_variable_count(const mcp_uri_template *t);
MCP_API mcp_str mcp_uri_template_variable(const mcp_uri_template *t, size_t index);

/* The literal text before the first expression, in the normal form that mcp_uri_template_match()
 * compares: scheme in lower case, bytes outside of ASCII as %XX in upper case, no %XX for letters,
 * digits and -._~. A URI that matches the template begins with it, once it is in normal form too.
 * Lives as long as the template. */
MCP_API mcp_str mcp_uri_template_prefix(const mcp_uri_template *t);

/* Whether the URI begins with that prefix when both are in normal form. Cheap, allocates nothing:
 * when it is false, mcp_uri_template_match() cannot succeed. */
MCP_API bool mcp_uri_template_prefix_matches(const mcp_uri_template *t, mcp_str uri);

/* Which of two templates that both match a URI is the more specific one: negative when it is a,
 * positive when it is b, 0 when they are equal in this and the order of registration decides. More
 * literal characters go first, then fewer variables, then fewer variables that can span several
 * segments ({+var}, {#var}, {var*}). Usable with any sort. */
MCP_API int mcp_uri_template_compare(const mcp_uri_template *a, const mcp_uri_template *b);

/* ---- expanding ------------------------------------------------------------------------------- */

/* What a variable can hold (RFC 6570 section 2.3). */
typedef enum mcp_uri_value_type {
    MCP_URI_STRING = 0, /* `string`; {0} is the empty string, which is defined */
    MCP_URI_LIST,       /* items[0..count), whose names are not looked at */
    MCP_URI_MAP,        /* items[0..count), name and value, in this order */
    MCP_URI_UNDEFINED,  /* as if it were not given; so is a list or map with count 0 */
} mcp_uri_value_type;

typedef struct mcp_uri_pair {
    mcp_str name;
    mcp_str value;
} mcp_uri_pair;

/* The value of one variable; all that it points to is borrowed during the call. Strings are meant to
 * be UTF-8; other bytes are percent-encoded one by one. */
typedef struct mcp_uri_value {
    mcp_str name;
    mcp_str string;
    mcp_uri_value_type type;
    const mcp_uri_pair *items;
    size_t count;
} mcp_uri_value;

/* A string value for an array of values: MCP_URI_VALUE("path", mcp_str_from(path)). */
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
 * of two values with one name the first counts. *ret is NUL-terminated ASCII without a NUL inside,
 * taken from the allocator and yours: release it with the same allocator, or with free() where
 * allocator was NULL. error may be NULL. MCP_EINVAL (a prefix modifier, {var:3}, on a list or map),
 * MCP_ELIMIT (longer than MCP_URI_MAX_EXPANSION), MCP_ENOMEM. */
MCP_API int mcp_uri_template_expand(const mcp_uri_template *t, const mcp_uri_value *values,
                                    size_t count, const mcp_allocator *allocator, char **ret,
                                    mcp_error *error);

/* The same with names and strings only, the common case. */
MCP_API int mcp_uri_template_expand_strings(const mcp_uri_template *t, const mcp_uri_pair *values,
                                            size_t count, const mcp_allocator *allocator,
                                            char **ret, mcp_error *error);

/* The same with the members of a JSON object: strings, numbers and booleans are strings, arrays of
 * them are lists, objects of them are maps, null is undefined (inside of an array or object too).
 * NULL is an object without members. MCP_EINVAL also for arrays and objects inside of each other, and
 * when `values` is neither an object nor NULL. */
MCP_API int mcp_uri_template_expand_json(const mcp_uri_template *t, const mcp_json *values,
                                         const mcp_allocator *allocator, char **ret,
                                         mcp_error *error);

/* ---- matching -------------------------------------------------------------------------------- */

/* The way back: which values would make the template expand to this URI. RFC 6570 (section 1.4) leaves
 * it open; here it is a fixed procedure, without regular expressions, recursion or backtracking, whose
 * time is linear in the length of the URI and of the template.
 *
 * - Both sides are compared in normal form (see mcp_uri_template_prefix()): "é", "%C3%A9" and "%c3%a9"
 *   are the same, and so are "~" and "%7E". A bad "%" or a NUL in the URI makes no match.
 * - {var} ends at "/", "?" and "#"; inside of the query at "&" and "#"; in the fragment nowhere.
 *   {+var} ends at "?" and "#"; inside of the query at "#"; in the fragment nowhere.
 * - {/var} is one segment, {/a,b} up to two, {/list*} any number; {.var} and {#var} are taken whole;
 *   several unnamed variables in one expression are split at its separator, and when there are fewer
 *   pieces than variables it is the last variables that are absent.
 * - {?a,b}, {&a,b} and {;a,b} match any subset of their variables in any order. A name that is not
 *   theirs, or one that comes twice without being exploded, makes no match. {?a}{&b} is {?a,b}.
 * - Where one expression follows another, as in {a}{/b} or {path}{;v}, the character that the second
 *   begins with ends the first, which could only contain it encoded.
 * - {var:3} matches at most three characters. A variable that stands in the template twice must have
 *   the same value in both places ({var:3} beside {var}: its beginning).
 * - Where a literal is found more than once, as in {name}.{ext} over "a.tar.gz", the last place is
 *   taken (name is "a.tar"), unless only the first can be right, as in {first}.{+rest}.
 * - An exploded variable is matched as a list; a map cannot be told from it ({?map*} would have to
 *   accept any name). An undefined {var} and an empty one expand to the same and match as empty. */

/* MCP_OK when URIs can be matched against the template, else MCP_EUNSUPPORTED with the reason in
 * *error (which may be NULL; offset is the place in the template's text). Refused is what cannot be
 * told apart: {a}{b}, {a}{.b}, {+path}{/b}, {/list*,b}, {+a}/{b}/{+c}, {?a}x{b}, a variable twice in
 * one {?…} or twice with an explode. A server requires MCP_OK of what it registers; expanding does
 * not need it. */
MCP_API int mcp_uri_template_matchable(const mcp_uri_template *t, mcp_error *error);

/* The values that a match found. */
typedef struct mcp_uri_match mcp_uri_match;

/* MCP_OK and a match, which is yours until mcp_uri_match_free() and refers to the template but not to
 * uri; MCP_ENOTFOUND when the URI does not match, MCP_EUNSUPPORTED when the template is not matchable,
 * MCP_ENOMEM. A URI of any length is safe; memory is at most a small multiple of its length. ret may
 * be NULL to ask only whether it matches. */
MCP_API int mcp_uri_template_match(const mcp_uri_template *t, mcp_str uri,
                                   const mcp_allocator *allocator, mcp_uri_match **ret);

/* Accepts NULL. */
MCP_API void mcp_uri_match_free(mcp_uri_match *m);

/* The decoded value; false, and *value the empty string, when the variable is absent or the template
 * has no such variable. It may contain any byte, NUL included, and need not be UTF-8. Of an exploded
 * variable it is the first element; of a list that is not exploded ({list}: "red,green") the whole
 * text. value may be NULL. The value lives as long as the match. */
MCP_API bool mcp_uri_match_get(const mcp_uri_match *m, const char *name, mcp_str *value);

/* The value as it stands in the URI's normal form, not decoded: tells "a%2Fb" from "a/b". Of an
 * exploded variable the whole text with its separators, of a named one (?list*) the whole "a=1&a=2"
 * with what stands between. */
MCP_API bool mcp_uri_match_raw(const mcp_uri_match *m, const char *name, mcp_str *value);

/* Visits the elements of a list: of an exploded variable, else the value split at the commas that are
 * not encoded (so a plain value gives itself). Zero-initialize the iterator. False at the end. */
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
