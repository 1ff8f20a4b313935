/* store.c: the store of clients (mcp_oauth_store) on a file of records. */
#define _GNU_SOURCE
#include "io/oauth_store/store.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_oauth_file_options, lock_ms, 60000),
};

/* A lock that a client has, or waits for. */
typedef struct held {
    mcp__link link;
    mcp_oauth_file_store *store;
    mcp_oauth_client *client;
    mcp__record_lock *lock;
    char key[];
} held;

struct mcp_oauth_file_store {
    mcp_allocator allocator;
    mcp_loop *loop;
    mcp__records records;
    uint64_t lock_ms;
    mcp__link locks;
    mcp_oauth_store functions;
};

static void held_free(mcp_oauth_file_store *s, held *h)
{
    mcp__list_remove(&h->link);
    mcp__record_lock_free(h->lock);
    mcp__release(&s->allocator, h);
}

static void on_locked(int rc, const mcp_error *error, void *arg)
{
    held *h = arg;
    mcp_oauth_client *client = h->client;

    (void)error;
    if (rc < 0)
        held_free(h->store, h); /* the client does not release what it did not get */
    mcp_oauth_client_locked(client, rc);
}

static int store_lock(mcp_oauth_client *client, const char *key, void *user)
{
    mcp_oauth_file_store *s = user;
    size_t len = strlen(key);
    held *h = mcp__zalloc(&s->allocator, sizeof(*h) + len + 1);

    if (!h)
        return MCP_ENOMEM;
    memcpy(h->key, key, len);
    h->store = s;
    h->client = client;
    mcp__list_append(&s->locks, &h->link);
    int rc =
        mcp__record_lock_new(s->loop, &s->records, key, s->lock_ms, on_locked, h, &h->lock, NULL);
    if (rc != MCP_OK && rc != MCP_PENDING)
        held_free(s, h);
    return rc;
}

static void store_unlock(mcp_oauth_client *client, const char *key, void *user)
{
    mcp_oauth_file_store *s = user;

    for (mcp__link *at = s->locks.next; at != &s->locks; at = at->next) {
        held *h = mcp__container(at, held, link);
        if (h->client == client && strcmp(h->key, key) == 0) {
            held_free(s, h);
            return;
        }
    }
}

typedef struct giving {
    void (*give)(void *arg, mcp_str record);
    void *arg;
} giving;

static void give_record(void *arg, mcp_str key, mcp_str record)
{
    giving *g = arg;

    (void)key;
    g->give(g->arg, record);
}

static int store_load(const char *key, void (*give)(void *arg, mcp_str record), void *arg,
                      void *user, mcp_error *error)
{
    mcp_oauth_file_store *s = user;
    giving g = {give, arg};

    return mcp__records_load(&s->records, key, give_record, &g, error);
}

static int store_save(const char *key, mcp_str record, void *user, mcp_error *error)
{
    mcp_oauth_file_store *s = user;

    return mcp__records_save(&s->records, key, record, error);
}

int mcp_oauth_file_store_new(mcp_loop *loop, const mcp_oauth_file_options *options,
                             mcp_oauth_file_store **ret, mcp_error *error)
{
    mcp_oauth_file_options o;
    int rc = MCP__TAKE(&o, options, mcp_oauth_file_options, error);

    if (rc != MCP_OK)
        return rc;
    if (!loop || !o.path || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop and a path are needed");
    mcp_oauth_file_store *s = mcp__zalloc(&loop->allocator, sizeof(*s));
    if (!s)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
    s->allocator = loop->allocator;
    s->loop = loop;
    MCP_SET_DEFAULTS(&o, defaults);
    s->lock_ms = o.lock_ms;
    mcp__list_init(&s->locks);
    s->functions = (mcp_oauth_store){.size = sizeof(s->functions),
                                     .user = s,
                                     .lock = store_lock,
                                     .unlock = store_unlock,
                                     .load = store_load,
                                     .save = store_save};
    rc = mcp__records_init(&s->records, &s->allocator, o.path, error);
    if (rc == MCP_OK)
        *ret = s;
    else
        mcp_oauth_file_store_free(s);
    return rc;
}

void mcp_oauth_file_store_free(mcp_oauth_file_store *store)
{
    if (!store)
        return;
    while (!mcp__list_empty(&store->locks))
        held_free(store, mcp__container(store->locks.next, held, link));
    mcp__records_free(&store->records);
    mcp_allocator a = store->allocator;
    mcp__release(&a, store);
}

const mcp_oauth_store *mcp_oauth_file_store_get(const mcp_oauth_file_store *store)
{
    return store ? &store->functions : NULL;
}

int mcp_oauth_file_store_list(const mcp_oauth_file_store *store,
                              void (*each)(void *arg, mcp_str key, mcp_str record), void *arg,
                              mcp_error *error)
{
    if (!store || !each)
        return mcp__fail(error, MCP_EINVAL, 0, "a store and a function are needed");
    return mcp__records_load(&store->records, NULL, each, arg, error);
}
