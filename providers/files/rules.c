/* rules.c: see rules.h.
 *
 * In practice nearly all rules are a plain name (`build/`) or a suffix (`*.o`), which are compared
 * without running the matcher. */
#include "rules.h"

#include "buffer.h"
#include "glob.h"

enum shape {
    NAME_IS,   /* the last component equals the text */
    NAME_ENDS, /* the last component ends in the text */
    NAME_GLOB, /* the last component matches the pattern */
    PATH_IS,   /* the whole path equals the text */
    PATH_GLOB, /* the whole path matches; `fixed` bytes of the pattern are literal */
};

typedef struct rule {
    uint32_t at; /* offset of its text in `text` */
    uint32_t len;
    uint32_t fixed;
    uint8_t shape;
    bool negated;
    bool dir_only;
} rule;

struct files_rules {
    mcp_allocator alloc;
    char *text;
    size_t count;
    rule items[];
};

/* Returns the length without trailing spaces, unless a backslash precedes them. */
static size_t without_trailing_spaces(const char *line, size_t len)
{
    size_t keep = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '\\' && i + 1 < len)
            keep = ++i + 1;
        else if (line[i] != ' ')
            keep = i + 1;
    }
    return keep;
}

/* Chooses how a rule is compared. Returns false if the line contains no rule. */
static bool compile(const char *text, mcp_str line, rule *r)
{
    *r = (rule){0};
    if (line.len && line.ptr[0] == '!') {
        r->negated = true;
        line.ptr++, line.len--;
    }
    if (line.len && line.ptr[line.len - 1] == '/') {
        r->dir_only = true;
        line.len--;
    }
    bool whole_path = line.len && memchr(line.ptr, '/', line.len);
    if (whole_path && line.ptr[0] == '/')
        line.ptr++, line.len--;
    if (line.len == 0)
        return false;
    size_t fixed = common_glob_literal(line);
    if (whole_path) {
        r->shape = fixed == line.len ? PATH_IS : PATH_GLOB;
    } else if (fixed == line.len) {
        r->shape = NAME_IS;
    } else if (line.ptr[0] == '*' &&
               common_glob_literal((mcp_str){line.ptr + 1, line.len - 1}) == line.len - 1) {
        r->shape = NAME_ENDS;
        line.ptr++, line.len--;
    } else {
        r->shape = NAME_GLOB;
    }
    r->at = (uint32_t)(line.ptr - text);
    r->len = (uint32_t)line.len;
    r->fixed = (uint32_t)fixed;
    return true;
}

/* Gets the next line at *at, without its end and trailing spaces. */
static bool next_line(mcp_str text, size_t *at, mcp_str *line)
{
    if (*at >= text.len)
        return false;
    const char *p = text.ptr + *at;
    const char *nl = memchr(p, '\n', text.len - *at);
    size_t len = nl ? (size_t)(nl - p) : text.len - *at;
    *at += len + 1;
    if (len && p[len - 1] == '\r') /* git reads as if each line had an end */
        len--;
    *line = (mcp_str){p, without_trailing_spaces(p, len)};
    return true;
}

static size_t fill(files_rules *set, mcp_str text)
{
    size_t at = 0, count = 0;
    mcp_str line;
    rule one;
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (count < FILES_RULES_MAX && next_line(text, &at, &line)) {
        if (line.len == 0 || line.ptr[0] == '#' || !compile(text.ptr, line, &one))
            continue;
        if (set)
            set->items[count] = one;
        count++;
    }
    return count;
}

int files_rules_parse(mcp_str text, const mcp_allocator *alloc, files_rules **ret)
{
    mcp_allocator mem = common_allocator(alloc);
    if (text.len > FILES_RULES_MAX_BYTES) {
        /* A line truncated by the limit must not become a different rule. */
        text.len = FILES_RULES_MAX_BYTES;
        while (text.len && text.ptr[text.len - 1] != '\n')
            text.len--;
    }
    size_t count = fill(NULL, text);
    if (count == 0) {
        *ret = NULL;
        return MCP_OK;
    }
    files_rules *set = common_alloc(&mem, sizeof(*set) + count * sizeof(set->items[0]));
    char *copy = common_copy(&mem, text.ptr, text.len);
    if (!set || !copy) {
        common_release(&mem, set);
        common_release(&mem, copy);
        return MCP_ENOMEM;
    }
    set->alloc = mem;
    set->text = copy;
    set->count = fill(set, (mcp_str){copy, text.len});
    *ret = set;
    return MCP_OK;
}

void files_rules_free(files_rules *rules)
{
    if (!rules)
        return;
    mcp_allocator mem = rules->alloc;
    common_release(&mem, rules->text);
    common_release(&mem, rules);
}

/* Compares the literal beginning first and removes it. The rest is matched as a pattern of its own,
 * so that "foo**" and a slash matches in the folders below, as it does in git. */
static bool path_glob(mcp_str pattern, size_t fixed, mcp_str path)
{
    if (path.len < fixed || memcmp(pattern.ptr, path.ptr, fixed) != 0)
        return false;
    return common_glob_match((mcp_str){pattern.ptr + fixed, pattern.len - fixed},
                             (mcp_str){path.ptr + fixed, path.len - fixed});
}

static bool matches(const rule *r, const char *text, mcp_str path, mcp_str name)
{
    mcp_str pattern = {text + r->at, r->len};
    switch ((enum shape)r->shape) {
    case NAME_IS: return mcp_str_eq(pattern, name);
    case NAME_ENDS:
        return pattern.len <= name.len &&
               memcmp(name.ptr + name.len - pattern.len, pattern.ptr, pattern.len) == 0;
    case NAME_GLOB: return common_glob_match(pattern, name);
    case PATH_IS: return mcp_str_eq(pattern, path);
    case PATH_GLOB: return path_glob(pattern, r->fixed, path);
    }
    return false;
}

int files_rules_match(const files_rules *rules, mcp_str path, size_t name, bool is_dir)
{
    if (!rules)
        return 0;
    mcp_str last = {path.ptr + name, path.len - name};
    for (size_t i = rules->count; i-- > 0;) {
        const rule *r = &rules->items[i];
        if ((is_dir || !r->dir_only) && matches(r, rules->text, path, last))
            return r->negated ? -1 : 1;
    }
    return 0;
}
