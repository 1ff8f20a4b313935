/* lines.c: see lines.h. */
#include "lines.h"

#include "ends.h"

enum {
    MOST_LINES = 1 << 30,
    WORK = 1 << 24,      /* lines that are compared, and lines of V that are written */
    WORK_PER_BYTES = 64, /* bytes of equal lines that cost as much as one comparison */
};

static size_t next_end(mcp_str text, size_t from, editing_split how, size_t *ret)
{
    size_t width = editing_next_end(text, from, how == EDITING_SPLIT_CR, ret);
    if (how != EDITING_SPLIT_LF || width < 2)
        return width;
    ++*ret;
    return 1;
}

static uint32_t hash_of(const char *p, size_t len)
{
    uint64_t h = len * 0x9e3779b97f4a7c15u, word;
    for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (word = 0; len > 0; len--)
        word = word << 8 | (unsigned char)*p++;
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static size_t count_lines(mcp_str text, editing_split how)
{
    size_t n = 0, end, width;
    for (size_t at = 0; at < text.len; at = end + width, n++)
        width = next_end(text, at, how, &end);
    return n;
}

int editing_lines_split(mcp_str text, editing_split how, const mcp_allocator *alloc,
                        editing_lines *ret)
{
    size_t end, width, i = 0;
    *ret = (editing_lines){.n = count_lines(text, how), .alloc = common_allocator(alloc)};
    if (ret->n > MOST_LINES || ret->n > SIZE_MAX / sizeof(*ret->line))
        return MCP_ENOMEM;
    ret->line = common_alloc(&ret->alloc, (ret->n + 1) * sizeof(*ret->line));
    if (!ret->line)
        return MCP_ENOMEM;
    for (size_t at = 0; at < text.len; at = end + width, i++) {
        width = next_end(text, at, how, &end);
        ret->line[i] = (editing_line){.ptr = text.ptr + at,
                                      .len = end - at,
                                      .hash = hash_of(text.ptr + at, end - at),
                                      .width = (uint8_t)width};
    }
    return MCP_OK;
}

void editing_lines_free(editing_lines *l)
{
    common_release(&l->alloc, l->line);
    *l = (editing_lines){.alloc = l->alloc};
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A part of both texts: lines from `a` up to `a_end`, and from `b` up to `b_end`. */
typedef struct box {
    int32_t a, a_end, b, b_end;
} box;

typedef struct comparing {
    editing_line *before, *after;
    int32_t *forward, *backward; /* Myers' V, by the diagonal a - b */
    int64_t work;                /* that is left */
} comparing;

static bool same(comparing *c, int32_t a, int32_t b)
{
    const editing_line *x = &c->before[a], *y = &c->after[b];
    c->work--;
    if (x->hash != y->hash || x->len != y->len || (x->width > 0) != (y->width > 0))
        return false;
    c->work -= (int64_t)(x->len / WORK_PER_BYTES);
    return memcmp(x->ptr, y->ptr, x->len) == 0;
}

/* How far the two searches for the middle have come: the diagonals that they reached. */
typedef struct reach {
    int32_t least, most; /* of the box */
    int32_t low, high;
} reach;

/* Widens by one diagonal at each side, or steps back at the edges of the box. */
static void widen(reach *r, int32_t *v, int32_t outside)
{
    if (r->low > r->least)
        v[--r->low - 1] = outside;
    else
        ++r->low;
    if (r->high < r->most)
        v[++r->high + 1] = outside;
    else
        --r->high;
}

/* One step of both searches. Returns whether they met, with the point in *a and *b. */
static bool step_forward(comparing *c, const box *x, reach *f, const reach *b, bool odd,
                         int32_t *a_ret, int32_t *b_ret)
{
    int32_t *v = c->forward;
    widen(f, v, -1);
    for (int32_t d = f->high; d >= f->low; d -= 2) {
        int32_t a = v[d - 1] < v[d + 1] ? v[d + 1] : v[d - 1] + 1;
        c->work--;
        while (a < x->a_end && a - d < x->b_end && same(c, a, a - d))
            a++;
        v[d] = a;
        if (odd && b->low <= d && d <= b->high && c->backward[d] <= a) {
            *a_ret = a;
            *b_ret = a - d;
            return true;
        }
    }
    return false;
}

static bool step_backward(comparing *c, const box *x, reach *b, const reach *f, bool odd,
                          int32_t *a_ret, int32_t *b_ret)
{
    int32_t *v = c->backward;
    widen(b, v, INT32_MAX);
    for (int32_t d = b->high; d >= b->low; d -= 2) {
        int32_t a = v[d - 1] < v[d + 1] ? v[d - 1] : v[d + 1] - 1;
        c->work--;
        while (a > x->a && a - d > x->b && same(c, a - 1, a - d - 1))
            a--;
        v[d] = a;
        if (!odd && f->low <= d && d <= f->high && a <= c->forward[d]) {
            *a_ret = a;
            *b_ret = a - d;
            return true;
        }
    }
    return false;
}

/* Finds a point in the middle of a shortest way through the box. Returns false if that is too much
 * work. */
static bool find_middle(comparing *c, const box *x, int32_t *a, int32_t *b)
{
    int32_t first = x->a - x->b, last = x->a_end - x->b_end;
    reach f = {x->a - x->b_end, x->a_end - x->b, first, first};
    reach r = {f.least, f.most, last, last};
    bool odd = ((first - last) & 1) != 0;
    c->forward[first] = x->a;
    c->backward[last] = x->a_end;
    while (c->work > 0)
        if (step_forward(c, x, &f, &r, odd, a, b) || step_backward(c, x, &r, &f, odd, a, b))
            return true;
    return false;
}

static void mark(comparing *c, const box *x)
{
    for (int32_t i = x->a; i < x->a_end; i++)
        c->before[i].changed = true;
    for (int32_t i = x->b; i < x->b_end; i++)
        c->after[i].changed = true;
}

/* The depth is logarithmic in the number of differences, because each half has half of them. */
static void compare(comparing *c, box x)
{
    int32_t a = 0, b = 0;
    while (x.a < x.a_end && x.b < x.b_end && same(c, x.a, x.b)) {
        x.a++;
        x.b++;
    }
    while (x.a < x.a_end && x.b < x.b_end && same(c, x.a_end - 1, x.b_end - 1)) {
        x.a_end--;
        x.b_end--;
    }
    if (x.a == x.a_end || x.b == x.b_end || !find_middle(c, &x, &a, &b)) {
        mark(c, &x);
        return;
    }
    compare(c, (box){x.a, a, x.b, b});
    compare(c, (box){a, x.a_end, b, x.b_end});
}

int editing_lines_compare(editing_lines *before, editing_lines *after)
{
    size_t room = before->n + after->n + 3;
    const mcp_allocator *alloc = &before->alloc;
    box all = {0, (int32_t)before->n, 0, (int32_t)after->n};
    comparing c = {.before = before->line, .after = after->line, .work = WORK};
    int32_t *v = common_alloc(alloc, 2 * room * sizeof(*v));
    if (!v)
        return MCP_ENOMEM;
    /* Diagonals are from -after->n - 1 to before->n + 1. */
    c.forward = v + after->n + 1;
    c.backward = c.forward + room;
    compare(&c, all);
    common_release(alloc, v);
    return MCP_OK;
}
