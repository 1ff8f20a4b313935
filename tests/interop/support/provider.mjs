// What the clients of the official SDKs need for OAuth: an OAuthClientProvider that keeps everything in memory, and a
// browser that comes back with the code at once.

import { randomUUID } from 'node:crypto';
import { browse } from './oauth.mjs';

const REDIRECT = 'http://127.0.0.1:1/callback'; // nothing listens there

// provider.logins has the URLs that the user was sent to, provider.back the parameters of the last return.
export class MemoryProvider {
    logins = [];
    back = undefined;
    #kept = {};

    constructor(user = 'alice', { password, client, issuer } = {}) {
        this.user = user;
        this.password = password;
        if (client) this.#kept.client = { client_id: client, issuer };
    }

    get redirectUrl() {
        return REDIRECT;
    }

    get clientMetadata() {
        return {
            client_name: 'interop', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', application_type: 'native',
            grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
        };
    }

    state() {
        return randomUUID();
    }

    async redirectToAuthorization(url) {
        this.logins.push(url);
        const ask = new URL(url);
        ask.searchParams.set('login_hint', this.user);
        this.back = (await browse(ask, { redirect: REDIRECT, user: this.user, password: this.password })).searchParams;
    }

    clientInformation() {
        return this.#kept.client;
    }

    saveClientInformation(client) {
        this.#kept.client = client;
    }

    tokens() {
        return this.#kept.tokens;
    }

    saveTokens(tokens) {
        this.#kept.tokens = tokens;
    }

    codeVerifier() {
        return this.#kept.verifier;
    }

    saveCodeVerifier(verifier) {
        this.#kept.verifier = verifier;
    }

    discoveryState() {
        return this.#kept.discovery;
    }

    saveDiscoveryState(state) {
        this.#kept.discovery = state;
    }

    invalidateCredentials(what) {
        if (what === 'all') this.#kept = {};
        else delete this.#kept[what];
    }
}
