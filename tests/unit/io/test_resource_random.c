/* Random events, compared with a model that knows only the keys that the authorization server has
 * sent. Keys are replaced, the authorization server is down at times, time passes, and tokens
 * arrive that are valid or have one defect. */
#include "resource_rig.h"

enum { KEYS = 3, EVENTS = 600 };

static const struct {
    const char *key, *kid;
} keys[KEYS] = {{key_p256, "p256"}, {key_p384, "p384"}, {key_p521, "p521"}};

typedef enum defect { NONE, SIGNATURE, EXPIRED, AUDIENCE, KID, TYPE, DEFECTS } defect;

typedef struct model {
    rig g;
    uint32_t seed;
    bool published[KEYS]; /* by the authorization server */
    bool sent[KEYS];      /* in its last valid answer */
    bool away;
    int fetches;
} model;

static uint32_t pick(model *m, uint32_t n)
{
    return next_random(&m->seed) % n;
}

static void serve_keys(script_connection *c, const script_request *r)
{
    model *m = (model *)c->script->user; /* the rig is its first member */
    if (strcmp(r->path, "/keys") == 0) {
        m->fetches++;
        for (size_t i = 0; i < KEYS && !m->away; i++)
            m->sent[i] = m->published[i];
    }
    source_answer(c, r);
}

static void publish(model *m)
{
    size_t first = pick(m, KEYS), second = pick(m, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        m->published[i] = i == first || i == second;
    set_keys(&m->g, keys[first].key, first == second ? NULL : keys[second].key);
}

/* Makes a token with this defect. The caller frees it. */
static char *make(model *m, size_t key, defect what)
{
    char payload[512], header[128];
    int64_t now = rig_wall(&m->g) / 1000;
    mcp__jwk *signer = key_for(keys[key].key, MCP__JWK_SIGN);
    snprintf(header, sizeof(header), "\"typ\":\"%s\",\"kid\":\"%s\"",
             what == TYPE ? "jwt" : "at+jwt", what == KID ? "none" : keys[key].kid);
    snprintf(payload, sizeof(payload),
             "{\"iss\":\"%s\",\"aud\":\"%s\",\"sub\":\"%u\",\"exp\":%lld}", m->g.issuer,
             what == AUDIENCE ? "you" : "me", (unsigned)pick(m, 1 << 20),
             (long long)(what == EXPIRED ? now - 61 : now + 100));
    char *token = sign_text(signer, header, payload);
    char *at = token + strlen(token) - 20;
    if (what == SIGNATURE)
        *at = *at == 'A' ? 'B' : 'A';
    mcp__jwk_free(signer);
    return token;
}

/* Sends a token, and checks that the model allows the answer. */
static void try_one(model *m)
{
    size_t key = pick(m, KEYS);
    defect what = pick(m, 2) ? NONE : (defect)pick(m, DEFECTS);
    char *token = make(m, key, what);
    int status = status_of(&m->g, token), expected = 0;
    bool has_key = m->sent[key] && what != KID, may_come = m->published[key] && what != KID;
    if (has_key)
        expected = what == NONE ? 200 : 401;
    else if (m->away || may_come)
        expected = 503; /* the key may be new, or no fetch is allowed now */
    bool fits = expected ? status == expected : status == 401 || status == 503;
    if (!fits)
        fail_msg("defect %d, key %zu (%d, %d), %s: %d", (int)what, key, m->sent[key],
                 m->published[key], m->away ? "away" : "there", status);
    /* Cached results stay the same, even if the keys are replaced. */
    if (status == 200)
        assert_int_equal(status_of(&m->g, token), 200);
    free(token);
}

static void test_random_events(void **state)
{
    (void)state;
    model *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    m->seed = 7;
    rig_begin(&m->g);
    rig_serve(&m->g, NULL, NULL);
    m->g.source.handle = serve_keys;
    publish(m);
    for (int i = 0; i < EVENTS; i++) {
        uint32_t event = pick(m, 20);
        if (event == 0)
            publish(m);
        else if (event == 1)
            m->away = !m->away;
        else if (event < 6)
            m->g.shift_ms += pick(m, event == 2 ? 4 * 3600 * 1000 : 20000);
        else
            try_one(m);
        m->g.key_status = m->away ? "500 Internal Server Error" : NULL;
    }
    assert_in_range(m->fetches, 10, EVENTS);
    rig_end(&m->g);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_events)};
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
