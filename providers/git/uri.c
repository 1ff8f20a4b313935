/* uri.c: see uri.h. */
#include "uri.h"

#include "expr.h"
#include "pieces.h"

enum { MAX_REV = 1024 };

static const struct {
    const char *word;
    repo_kind kind;
    int revs;
    bool path, path_required;
} kinds[] = {
    {"branches", REPO_KIND_BRANCHES, 0, false, false},
    {"tags", REPO_KIND_TAGS, 0, false, false},
    {"commit", REPO_KIND_COMMIT, 1, false, false},
    {"log", REPO_KIND_LOG, 1, true, false},
    {"diff", REPO_KIND_DIFF, 2, true, false},
    {"blame", REPO_KIND_BLAME, 1, true, true},
    {"search", REPO_KIND_SEARCH, 1, false, false},
    {"status", REPO_KIND_STATUS, 0, false, false},
    {"staged", REPO_KIND_STAGED, 0, true, false},
    {"unstaged", REPO_KIND_UNSTAGED, 0, true, false},
};

static const struct {
    const char *name;
    unsigned kinds;
} params[REPO_PARAM_COUNT] = {
    [REPO_PARAM_AFTER] = {"after", 1U << REPO_KIND_FILE | 1U << REPO_KIND_BRANCHES |
                                       1U << REPO_KIND_TAGS | 1U << REPO_KIND_SEARCH},
    [REPO_PARAM_AUTHOR] = {"author", 1U << REPO_KIND_LOG},
    [REPO_PARAM_FILES] = {"files", 1U << REPO_KIND_LOG},
    [REPO_PARAM_FORMAT] = {"format", ~0U},
    [REPO_PARAM_FROM] = {"from", 1U << REPO_KIND_LOG},
    [REPO_PARAM_LENGTH] = {"length", 1U << REPO_KIND_FILE},
    [REPO_PARAM_LIMIT] = {"limit", 1U << REPO_KIND_FILE | 1U << REPO_KIND_BRANCHES |
                                       1U << REPO_KIND_TAGS | 1U << REPO_KIND_LOG |
                                       1U << REPO_KIND_SEARCH},
    [REPO_PARAM_LINE] = {"line", 1U << REPO_KIND_BLAME},
    [REPO_PARAM_LINES] = {"lines", 1U << REPO_KIND_BLAME},
    [REPO_PARAM_OFFSET] = {"offset", 1U << REPO_KIND_FILE | 1U << REPO_KIND_LOG},
    [REPO_PARAM_PATH] = {"path", 1U << REPO_KIND_SEARCH | 1U << REPO_KIND_DIFF |
                                     1U << REPO_KIND_STAGED | 1U << REPO_KIND_UNSTAGED},
    [REPO_PARAM_REGEX] = {"regex", 1U << REPO_KIND_SEARCH},
    [REPO_PARAM_SINCE] = {"since", 1U << REPO_KIND_LOG},
    [REPO_PARAM_TEXT] = {"text", 1U << REPO_KIND_SEARCH | 1U << REPO_KIND_LOG},
    [REPO_PARAM_UNTIL] = {"until", 1U << REPO_KIND_LOG},
};

const char *repo_param_name(repo_param param)
{
    return params[param].name;
}

static bool is_name(mcp_str s)
{
    return s.len && !memchr(s.ptr, '/', s.len) && !mcp_str_eq(s, MCP_STR(".")) &&
           !mcp_str_eq(s, MCP_STR(".."));
}

/* Takes the segments of a path up to the query. One "/" at the end is allowed and ignored. The
 * segments are joined in place by replacing their NULs by slashes. */
static bool take_segments(common_pieces *p, mcp_str *ret)
{
    char *begin = p->room;
    size_t len = 0, depth = 0;
    while (p->rest.len && *p->rest.ptr != '?' && *p->rest.ptr != '#') {
        mcp_str name;
        if (len)
            begin[len++] = '/';
        if (!common_pieces_take(p, "/?#", &name) || !is_name(name) || ++depth > REPO_DEPTH_MAX)
            return false;
        len += name.len;
        if (len > REPO_PATH_MAX)
            return false;
        common_pieces_skip(p, '/');
    }
    begin[len] = 0;
    p->room = begin + len + 1;
    *ret = (mcp_str){begin, len};
    return true;
}

static bool take_params(common_pieces *p, repo_target *t)
{
    while (p->rest.len) {
        mcp_str name, *value = NULL;
        if (!common_pieces_take(p, "=&#", &name) || !common_pieces_skip(p, '='))
            return false;
        for (size_t i = 0; i < REPO_PARAM_COUNT; i++)
            if (mcp_str_eq(name, mcp_str_from(params[i].name)) && params[i].kinds >> t->kind & 1)
                value = &t->param[i];
        p->room -= name.len + 1; /* the name is not kept */
        if (!value || value->ptr || !common_pieces_take(p, "&#", value))
            return false;
        if (!value->len && value != &t->param[REPO_PARAM_PATH]) /* an empty path means
                                                                 * the top folder */
            return false;
        if (p->rest.len && (!common_pieces_skip(p, '&') || !p->rest.len))
            return false;
    }
    return true;
}

static bool take_rev(common_pieces *p, mcp_str *ret)
{
    return common_pieces_take(p, "/?#", ret) && ret->len && ret->len <= MAX_REV;
}

/* Handles both sides of a difference in one segment. With two dots it is equivalent to two segments
 * and is converted to that form. Returns false if it is not a range. */
static bool take_range(repo_target *t)
{
    repo_range range;
    if (!repo_range_split(t->rev, &range))
        return false;
    if (range.parted || !range.from.len || !range.to.len)
        return true;
    ((char *)(uintptr_t)t->rev.ptr)[range.from.len] = 0; /* the string is in our buffer */
    t->rev = range.from;
    t->other = range.to;
    return true;
}

static bool take_special(common_pieces *p, repo_target *t)
{
    mcp_str word;
    size_t i = 0, n = sizeof(kinds) / sizeof(*kinds);
    if (!common_pieces_skip(p, '/') || !common_pieces_take(p, "/?#", &word))
        return false;
    while (i < n && !mcp_str_eq(word, mcp_str_from(kinds[i].word)))
        i++;
    if (i == n)
        return false;
    p->room -= word.len + 1;
    t->kind = kinds[i].kind;
    if (kinds[i].revs > 0 && (!common_pieces_skip(p, '/') || !take_rev(p, &t->rev)))
        return false;
    if (kinds[i].revs > 1 && !take_range(t) &&
        (!common_pieces_skip(p, '/') || !take_rev(p, &t->other)))
        return false;
    if (kinds[i].path && common_pieces_skip(p, '/') && !take_segments(p, &t->path))
        return false;
    return !kinds[i].path_required || t->path.len;
}

int repo_uri_parse(mcp_str rest, char *room, repo_target *ret)
{
    common_pieces p = {.rest = rest, .room = room};
    *ret = (repo_target){.rev = {"", 0}, .other = {"", 0}, .path = {"", 0}};
    if (p.rest.len && *p.rest.ptr != '?') {
        ret->kind = REPO_KIND_FILE;
        if (!take_rev(&p, &ret->rev))
            return MCP_ENOTFOUND;
        if (mcp_str_eq(ret->rev, MCP_STR("-"))) {
            ret->rev = (mcp_str){"", 0};
            if (!take_special(&p, ret))
                return MCP_ENOTFOUND;
        } else if (common_pieces_skip(&p, '/') && !take_segments(&p, &ret->path)) {
            return MCP_ENOTFOUND;
        }
    }
    if (common_pieces_skip(&p, '?') && (!p.rest.len || !take_params(&p, ret)))
        return MCP_ENOTFOUND;
    return p.rest.len ? MCP_ENOTFOUND : MCP_OK;
}

/* ---- building -------------------------------------------------------------------------------- */

size_t repo_uri_encode(char *to, mcp_str text, bool slashes)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (slashes && text.ptr[i] == '/')
            to[len++] = '/';
        else
            len += common_pieces_encode(to + len, text.ptr[i]);
    }
    return len;
}

size_t repo_uri_room(const repo_target *t)
{
    size_t len = t->rev.len + t->other.len + t->path.len;
    for (size_t i = 0; i < REPO_PARAM_COUNT; i++)
        len += t->param[i].len;
    return 3 * len + 16 + 8 * REPO_PARAM_COUNT;
}

static size_t put_plain(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    return len;
}

static size_t put_params(char *to, const repo_target *t)
{
    size_t len = 0;
    for (size_t i = 0; i < REPO_PARAM_COUNT; i++) {
        if (!t->param[i].ptr)
            continue;
        to[len] = len ? '&' : '?';
        len++;
        len += put_plain(to + len, params[i].name);
        to[len++] = '=';
        len += repo_uri_encode(to + len, t->param[i], false);
    }
    return len;
}

size_t repo_uri_put(char *to, const repo_target *t)
{
    size_t len = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (kinds[i].kind != t->kind)
            continue;
        len += put_plain(to, "-/");
        len += put_plain(to + len, kinds[i].word);
        if (t->rev.len)
            to[len++] = '/';
    }
    len += repo_uri_encode(to + len, t->rev, false);
    if (t->other.len) {
        to[len++] = '/';
        len += repo_uri_encode(to + len, t->other, false);
    }
    if (t->kind == REPO_KIND_FILE || t->path.len)
        to[len++] = '/';
    len += repo_uri_encode(to + len, t->path, true);
    len += put_params(to + len, t);
    to[len] = 0;
    return len;
}

/* ---- references ------------------------------------------------------------------------------ */

static const char *refused_character(mcp_str rev, size_t i)
{
    unsigned char c = (unsigned char)rev.ptr[i];
    char next = i + 1 < rev.len ? rev.ptr[i + 1] : 0, last = i ? rev.ptr[i - 1] : '/';
    if (c < ' ' || c == 0x7f)
        return "it has a control character";
    if (strchr(" ~^:?*[\\", c))
        return "a name must not contain ~ ^ : ? * [ \\ or spaces";
    if (c == '.' && (next == '.' || last == '/'))
        return "a part of it begins with \".\", or contains \"..\" where a range is not allowed";
    if (c == '/' && (i == 0 || next == '/' || i + 1 == rev.len))
        return "it has an empty part";
    if (c == '@' && (next == '{' || rev.len == 1))
        return "\"@\" and \"@{\" are not supported";
    if (c == '-' && i == 0)
        return "it begins with \"-\", as options do";
    return NULL;
}

static bool ends_part(mcp_str rev, size_t i, mcp_str ending)
{
    return i >= ending.len && memcmp(rev.ptr + i - ending.len, ending.ptr, ending.len) == 0;
}

const char *repo_rev_refused(mcp_str rev)
{
    if (!rev.len || rev.len > MAX_REV)
        return "it is empty or too long";
    for (size_t i = 0; i <= rev.len; i++) {
        const char *why = i < rev.len ? refused_character(rev, i) : NULL;
        if (why)
            return why;
        if ((i == rev.len || rev.ptr[i] == '/') &&
            (ends_part(rev, i, MCP_STR(".lock")) || ends_part(rev, i, MCP_STR("."))))
            return "a part of it ends with \".lock\" or \".\"";
    }
    return NULL;
}

bool repo_rev_is_id(mcp_str rev)
{
    bool ok = rev.len == 40;
    for (size_t i = 0; ok && i < 40; i++)
        ok = (rev.ptr[i] >= '0' && rev.ptr[i] <= '9') || (rev.ptr[i] >= 'a' && rev.ptr[i] <= 'f');
    return ok;
}
