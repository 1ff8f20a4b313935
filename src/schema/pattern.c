/* pattern.c: ECMA-262 regular expressions on PCRE2.
 *
 * A pattern is first rewritten where both languages accept it with different meanings: "[" in a
 * class becomes a literal, \s includes the Unicode spaces, pairs of \uXXXX become one character,
 * and long names of \p{...} become those of PCRE2. Verbs are rejected. PCRE2's options cover the
 * remaining differences.
 *
 * PCRE2 does not report how much work a match took. So a match first runs with a small limit, which
 * is sufficient for nearly all matches. If it is not sufficient, the match is repeated with a limit
 * ten times as large. Each attempt counts as steps of the validation. This bounds the whole
 * validation, not only a single match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "schema/schema.h"

enum {
    FIRST_LIMIT = 2000, /* calls of PCRE2's internal match function */
    CALLS_PER_STEP = 100,
    HEAP_LIMIT_KIB = 8 * 1024,
    COMPILED_LIMIT = 16 * 1024 * 1024, /* bytes of all compiled patterns of a schema */
    NESTING_LIMIT = 100,
    BYTES_PER_STEP = 64,
};

struct pattern {
    pcre2_code *code;
    mcp_str source;
    pattern *next;
};

/* The contexts of PCRE2, created with the first pattern and never changed afterwards. */
struct pcre_support {
    pcre2_general_context *general;
    pcre2_compile_context *compile;
    pcre2_match_context *match;
};

static const uint32_t OPTIONS = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                                PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |
                                PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_UTF_CHECK;

static void *pcre_malloc(size_t size, void *user)
{
    return mcp__alloc(user, size);
}

static void pcre_free(void *ptr, void *user)
{
    mcp__release(user, ptr);
}

static int set_up(mcp_schema *schema)
{
    if (schema->pcre)
        return MCP_OK;
    struct pcre_support *s = mcp__zalloc(&schema->allocator, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    schema->pcre = s; /* incomplete after a failure; freed with the schema */
    s->general = pcre2_general_context_create(pcre_malloc, pcre_free, &schema->allocator);
    s->compile = s->general ? pcre2_compile_context_create(s->general) : NULL;
    s->match = s->general ? pcre2_match_context_create(s->general) : NULL;
    if (!s->compile || !s->match)
        return MCP_ENOMEM;
    pcre2_set_compile_extra_options(s->compile, PCRE2_EXTRA_ALT_BSUX);
    pcre2_set_newline(s->compile, PCRE2_NEWLINE_ANYCRLF);
    pcre2_set_parens_nest_limit(s->compile, NESTING_LIMIT);
    pcre2_set_match_limit(s->match, MCP__MIN(FIRST_LIMIT, (uint32_t)schema->limits.pattern_limit));
    pcre2_set_heap_limit(s->match, HEAP_LIMIT_KIB);
    return MCP_OK;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/* What \s and \S match, for use inside a class. An escape at both ends prevents a "-" beside them
 * from being read as a range. */
#define SPACES                                                                            \
    "\\s\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}" \
    "\\u{feff}\\s"
#define NOT_SPACES                                                                   \
    "\\w\\u{00}-\\u{08}\\u{0e}-\\u{1f}!-\\u{9f}\\u{a1}-\\u{167f}\\u{1681}-\\u{1fff}" \
    "\\u{200b}-\\u{2027}\\u{202a}-\\u{202e}\\u{2030}-\\u{205e}\\u{2060}-\\u{2fff}"   \
    "\\u{3001}-\\u{d7ff}\\u{e000}-\\u{fefe}\\u{ff00}-\\u{10ffff}\\w"

typedef struct rewriter {
    mcp_str from;
    size_t at;
    bool in_class;
    bool behind_set; /* in a class, directly after \w or similar, where "-" is not a range */
    mcp__buf *to;
} rewriter;

static int hex4(mcp_str s, size_t at)
{
    int n = 0;
    if (s.len < 4 || at > s.len - 4)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        char ch = s.ptr[i];
        if (!mcp__schema_hex(ch))
            return -1;
        n = n * 16 + (ch <= '9' ? ch - '0' : (ch | 0x20) - 'a' + 10);
    }
    return n;
}

/* Rewrites "\uD83D\uDE00" as one character. Returns false if it is not a pair. */
static bool rewrite_pair(rewriter *r)
{
    int high = hex4(r->from, r->at + 2);
    if (high < 0xd800 || high > 0xdbff ||
        !mcp__str_starts(mcp__str_sub(r->from, r->at + 6), MCP_STR("\\u")))
        return false;
    int low = hex4(r->from, r->at + 8);
    if (low < 0xdc00 || low > 0xdfff)
        return false;
    mcp__buf_printf(r->to, "\\u{%x}", 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
    r->at += 12;
    return true;
}

static const struct {
    const char *from, *to;
} properties[] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"LC", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

/* Rewrites "\p{Letter}", "\p{gc=Lu}" or "\p{Script=Greek}". */
static bool rewrite_property(rewriter *r)
{
    static const char *const prefixes[] = {
        "General_Category=", "gc=", "Script=", "sc=", "Script_Extensions=", "scx="};
    mcp_str rest = mcp__str_sub(r->from, r->at + 2);
    const char *end = rest.len && rest.ptr[0] == '{' ? memchr(rest.ptr, '}', rest.len) : NULL;
    if (!end)
        return false;
    mcp_str name = {rest.ptr + 1, (size_t)(end - rest.ptr) - 1};
    for (size_t i = 0; i < MCP__COUNT(prefixes); i++) {
        if (mcp__str_starts(name, mcp_str_from(prefixes[i])))
            name = mcp__str_sub(name, strlen(prefixes[i]));
    }
    for (size_t i = 0; i < MCP__COUNT(properties); i++) {
        if (mcp_str_eq(name, mcp_str_from(properties[i].from)))
            name = mcp_str_from(properties[i].to);
    }
    mcp__buf_add(r->to, r->from.ptr + r->at, 2);
    mcp__buf_char(r->to, '{');
    mcp__buf_str(r->to, name);
    mcp__buf_char(r->to, '}');
    r->at += 2 + (size_t)(end - rest.ptr) + 1;
    return true;
}

static void rewrite_escape(rewriter *r, char what)
{
    if ((what == 'u' && rewrite_pair(r)) || ((what == 'p' || what == 'P') && rewrite_property(r)))
        return;
    size_t n = MCP__MIN((size_t)2, r->from.len - r->at);
    if (what == 's' && r->in_class)
        mcp__buf_lit(r->to, SPACES);
    else if (what == 's')
        mcp__buf_lit(r->to, "[" SPACES "]");
    else if (what == 'S' && r->in_class)
        mcp__buf_lit(r->to, NOT_SPACES);
    else if (what == 'S')
        mcp__buf_lit(r->to, "[^" SPACES "]");
    else
        mcp__buf_add(r->to, r->from.ptr + r->at, n);
    r->at += n;
}

static int rewrite(mcp_str source, mcp__buf *to, mcp_error *why)
{
    rewriter r = {source, 0, false, false, to};
    while (r.at < source.len) {
        char ch = source.ptr[r.at];
        if (ch == '\\') {
            char what = r.at + 1 < source.len ? source.ptr[r.at + 1] : '\0';
            if (mcp__schema_letter(what) && !strchr("bBcdDfknpPrsStuvwWx", what))
                return mcp__fail(why, MCP_EINVAL, r.at, "the pattern has the unknown escape \\%c",
                                 what);
            rewrite_escape(&r, what);
            r.behind_set = r.in_class && what && strchr("wWdDsSpP", what);
            continue;
        }
        if (!r.in_class && ch == '(' && r.at + 1 < source.len && source.ptr[r.at + 1] == '*')
            return mcp__fail(why, MCP_EINVAL, r.at, "the pattern has nothing to repeat at byte %zu",
                             r.at);
        if (!r.in_class && mcp__str_starts(mcp__str_sub(source, r.at), MCP_STR("(?C")))
            return mcp__fail(why, MCP_EINVAL, r.at, "the pattern has a callout at byte %zu", r.at);
        if (r.in_class && (ch == '[' || (ch == '-' && r.behind_set)))
            mcp__buf_char(to, '\\');
        r.in_class = r.in_class ? ch != ']' : ch == '[';
        r.behind_set = false;
        mcp__buf_char(to, ch);
        r.at++;
    }
    return to->failed;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static int compile(const mcp_schema *schema, mcp_str source, pcre2_code **ret, mcp_error *why)
{
    mcp__buf text;
    excerpt shown;
    int code = 0;
    size_t at = 0;
    char message[100] = "";
    if (source.len > schema->limits.max_pattern)
        return mcp__fail(why, MCP_ELIMIT, 0, "the pattern is over the limit of %zu bytes",
                         schema->limits.max_pattern);
    mcp__buf_init(&text, &schema->allocator, 0);
    int rc = rewrite(source, &text, why);
    if (!rc)
        *ret = pcre2_compile((PCRE2_SPTR)(text.len ? text.ptr : ""), text.len, OPTIONS, &code, &at,
                             schema->pcre->compile);
    mcp__buf_free(&text);
    if (rc || *ret)
        return rc;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return MCP_ENOMEM;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
    return mcp__fail(why, MCP_EINVAL, at, "the pattern %s is invalid: %s",
                     mcp__schema_show(&shown, source), message);
}

int mcp__schema_pattern_new(mcp_schema *schema, mcp_str source, const pattern **ret, mcp_error *why)
{
    if (set_up(schema))
        return MCP_ENOMEM;
    pattern *p = mcp__arena_alloc(&schema->arena, sizeof(*p));
    if (!p)
        return MCP_ENOMEM;
    *p = (pattern){NULL, source, NULL};
    int rc = compile(schema, source, &p->code, why);
    if (rc)
        return rc;
    size_t size = 0;
    p->next = schema->patterns;
    schema->patterns = p;
    pcre2_pattern_info(p->code, PCRE2_INFO_SIZE, &size);
    schema->pattern_bytes += size;
    if (schema->pattern_bytes > COMPILED_LIMIT)
        return mcp__fail(why, MCP_ELIMIT, 0, "the patterns are over the limit of %d bytes in all",
                         COMPILED_LIMIT);
    *ret = p;
    return MCP_OK;
}

void mcp__schema_patterns_free(mcp_schema *schema)
{
    struct pcre_support *s = schema->pcre;
    for (pattern *p = schema->patterns; p; p = p->next)
        pcre2_code_free(p->code);
    pcre2_match_data_free(atomic_load(&schema->spare));
    if (!s)
        return;
    pcre2_match_context_free(s->match);
    pcre2_compile_context_free(s->compile);
    pcre2_general_context_free(s->general);
    mcp__release(&schema->allocator, s);
    schema->pcre = NULL;
}

mcp_str mcp__schema_pattern_source(const pattern *p)
{
    return p->source;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* One block is stored for the next validation. A second thread at the same time allocates another
 * one. */
static void *take_match_data(const mcp_schema *schema)
{
    _Atomic(void *) *spare = (_Atomic(void *) *)(uintptr_t)&schema->spare;
    void *data = atomic_exchange(spare, NULL);
    return data ? data : pcre2_match_data_create(1, schema->pcre->general);
}

void mcp__schema_match_done(const mcp_schema *schema, void *match_data)
{
    _Atomic(void *) *spare = (_Atomic(void *) *)(uintptr_t)&schema->spare;
    void *none = NULL;
    if (match_data && !atomic_compare_exchange_strong(spare, &none, match_data))
        pcre2_match_data_free(match_data);
}

static int match(const pattern *p, mcp_str text, pcre2_match_data *data,
                 pcre2_match_context *context)
{
    return pcre2_match(p->code, (PCRE2_SPTR)(text.len ? text.ptr : ""), text.len, 0,
                       PCRE2_NO_UTF_CHECK, data, context);
}

static int match_again(const mcp_schema *schema, const pattern *p, mcp_str text,
                       pcre2_match_data *data, size_t *steps)
{
    size_t max_limit = schema->limits.pattern_limit, limit = FIRST_LIMIT;
    int rc = PCRE2_ERROR_MATCHLIMIT;
    pcre2_match_context *context = pcre2_match_context_copy(schema->pcre->match);
    if (!context)
        return PCRE2_ERROR_NOMEMORY;
    while (rc == PCRE2_ERROR_MATCHLIMIT && limit < max_limit) {
        limit = MCP__MIN(limit * 10, max_limit);
        if (*steps <= limit / CALLS_PER_STEP) {
            *steps = 0;
            break;
        }
        *steps -= limit / CALLS_PER_STEP;
        pcre2_set_match_limit(context, (uint32_t)MCP__MIN(limit, (size_t)UINT32_MAX));
        rc = match(p, text, data, context);
    }
    pcre2_match_context_free(context);
    return rc;
}

int mcp__schema_pattern_match(const mcp_schema *schema, const pattern *p, mcp_str text,
                              void **match_data, size_t *steps)
{
    size_t cost = 1 + FIRST_LIMIT / CALLS_PER_STEP / 4 + text.len / BYTES_PER_STEP;
    *steps = *steps > cost ? *steps - cost : 0;
    if (*steps == 0)
        return MCP_ELIMIT;
    if (!*match_data)
        *match_data = take_match_data(schema);
    if (!*match_data)
        return MCP_ENOMEM;
    int rc = match(p, text, *match_data, schema->pcre->match);
    if (rc == PCRE2_ERROR_MATCHLIMIT)
        rc = match_again(schema, p, text, *match_data, steps);
    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    return rc == PCRE2_ERROR_NOMEMORY ? MCP_ENOMEM : MCP_ELIMIT;
}

int mcp__schema_pattern_check(const mcp_schema *schema, mcp_str source)
{
    pcre2_code *code = NULL;
    struct pcre_support s = {0};
    mcp_schema scratch = {.allocator = schema->allocator, .limits = schema->limits, .pcre = &s};
    s.general = pcre2_general_context_create(pcre_malloc, pcre_free, &scratch.allocator);
    s.compile = s.general ? pcre2_compile_context_create(s.general) : NULL;
    int rc = MCP_ENOMEM;
    if (s.compile) {
        pcre2_set_compile_extra_options(s.compile, PCRE2_EXTRA_ALT_BSUX);
        pcre2_set_parens_nest_limit(s.compile, NESTING_LIMIT);
        rc = compile(&scratch, source, &code, NULL);
    }
    pcre2_code_free(code);
    pcre2_compile_context_free(s.compile);
    pcre2_general_context_free(s.general);
    return rc;
}
