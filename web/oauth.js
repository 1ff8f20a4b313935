// oauth.js: the login of the page at an issuer of its server: OAuth 2.1, the code flow with PKCE, as the specification of MCP
// has it (basic/authorization). Tokens, and all that leads to them, are in the memory of the page only.
//
// The issuer is shown in a tab of its own, so that nothing has to be stored meanwhile. It leads back to the address of the
// page with a code; that tab passes it on to this one, and is done. The code is worth nothing without the verifier, which
// only this page and the issuer know.

import { line } from "./dom.js";
import { limitedText } from "./mcp.js";

const MOST_METADATA = 256 << 10; // characters
const CHANNEL = "login";

const base64url = bytes => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const random = n => base64url(crypto.getRandomValues(new Uint8Array(n)));
const words = text => typeof text === "string" ? text.split(" ").filter(Boolean) : [];

// The parameters of a challenge (WWW-Authenticate, RFC 9110 section 11.6.1), or undefined if there is none of this scheme.
export function challengeOf(header, scheme = "bearer") {
    const part = /[\s,]*(?:([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([\w-]+))/gy;
    const text = (header ?? "").slice(0, 8192);
    let found, current;
    for (let match; (match = part.exec(text));) {
        const [, name, quoted, plain, begins] = match;
        if (begins) {
            current = begins.toLowerCase() === scheme && !found ? found = {} : undefined;
        } else if (current && !Object.hasOwn(current, name.toLowerCase())) {
            current[name.toLowerCase()] = quoted?.replace(/\\(.)/g, "$1") ?? plain;
        }
    }
    return found;
}

// Where the metadata of an issuer can be, in the order of the specification.
export function metadataUrls(issuer) {
    const { origin, pathname } = new URL(issuer);
    const path = pathname.replace(/\/$/, "");
    const inserted = ["oauth-authorization-server", "openid-configuration"].map(name => `${origin}/.well-known/${name}${path}`);
    return path ? [...inserted, `${origin}${path}/.well-known/openid-configuration`] : inserted;
}

// An address to which a browser may be sent with a login, or a code: encrypted, or on this machine.
export function isSafe(address) {
    let url;
    try {
        url = new URL(address);
    } catch {
        return false;
    }
    const own = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
    return !url.username && !url.password && !url.hash && (url.protocol === "https:" || url.protocol === "http:" && own);
}

// Returns why metadata of an authorization server cannot be used, or undefined.
export function faultOf(metadata, issuer) {
    if (metadata.issuer !== issuer) return `its metadata is that of another issuer: ${line(metadata.issuer, 200)}`;
    if (!isSafe(metadata.authorization_endpoint) || !isSafe(metadata.token_endpoint)) return "its metadata has no usable endpoints";
    if (!Array.isArray(metadata.code_challenge_methods_supported) || !metadata.code_challenge_methods_supported.includes("S256"))
        return "it does not say that it supports PKCE with S256";
    if (new URL(metadata.token_endpoint).origin !== new URL(issuer).origin)
        return `its token endpoint is at another host, ${line(new URL(metadata.token_endpoint).host, 100)}, to which this page may not connect`;
    return undefined;
}

// Returns why an authorization response cannot be used, or undefined. What a response of another issuer says is not shown.
export function responseFault(back, { state, issuer, metadata }) {
    if (back.state !== state) return "it is not the answer to this login";
    if (back.iss === undefined ? metadata.authorization_response_iss_parameter_supported === true : back.iss !== issuer)
        return "the answer is not that of this issuer";
    if (back.error !== undefined) return `the issuer refused it: ${line(back.error, 100)}`;
    return typeof back.code === "string" && back.code ? undefined : "the answer has no code";
}

async function fetchJson(url, options = {}) {
    const answer = await fetch(url, { cache: "no-store", credentials: "omit", redirect: "error", ...options,
        headers: { Accept: "application/json", ...options.headers } });
    const text = await limitedText(answer, MOST_METADATA);
    let value;
    try {
        value = JSON.parse(text);
    } catch {
        value = undefined;
    }
    return { status: answer.status, value: value !== null && typeof value === "object" ? value : {} };
}

// The first of these addresses that has a document.
async function firstOf(urls) {
    for (const url of urls) {
        const { status, value } = await fetchJson(url).catch(() => ({ status: 0, value: undefined }));
        if (status === 200) return value;
    }
    return undefined;
}

// The login of this page. `logins` are the issuers of the configuration, [{issuer, clientId}].
export class Login {
    #logins;
    #resource;
    #asked = new Set(); // the scopes of the last login
    /** @type {{token: string, refresh?: string, issuer: string, clientId: string, endpoint: string} | undefined} */
    #grant = undefined;
    /** @type {Promise<boolean> | undefined} */
    #renewing = undefined;

    constructor(logins, endpoint) {
        this.#logins = Array.isArray(logins) ? logins : [];
        this.#resource = location.origin + endpoint;
    }

    get exists() {
        return this.#logins.length > 0;
    }
    get authorization() {
        return this.#grant && `Bearer ${this.#grant.token}`;
    }

    // Returns whether all these scopes were asked for already.
    has = scopes => words(scopes).every(scope => this.#asked.has(scope));

    // Finds out where one can log in, from the challenge of an answer. Returns [{issuer, url, done}]: the address to open,
    // and the promise of the end of that login; or {issuer, fault}.
    async offers(header, signal) {
        if (!globalThis.crypto?.subtle) throw new Error("A login needs a page that was loaded with https, or from this machine.");
        const challenge = challengeOf(header);
        if (!challenge) throw new Error("The server does not accept the tokens of a page.");
        const about = await this.#protected(challenge.resource_metadata);
        const scopes = new Set([...this.#asked, ...challenge.scope !== undefined ? words(challenge.scope)
            : Array.isArray(about.scopes_supported) ? about.scopes_supported.map(String) : []]);
        const servers = Array.isArray(about.authorization_servers) ? about.authorization_servers : [];
        const usable = this.#logins.filter(l => servers.includes(l.issuer));
        if (!usable.length) throw new Error("The server names no issuer at which this page can log in.");
        return Promise.all(usable.map(l => this.#offer(l, scopes, signal).catch(error => ({ issuer: l.issuer, fault: line(error.message, 300) }))));
    }

    // The metadata of the server as a protected resource (RFC 9728).
    async #protected(named) {
        const { origin, pathname } = new URL(this.#resource);
        const well = `${origin}/.well-known/oauth-protected-resource`;
        if (named !== undefined && URL.canParse(named) && new URL(named).origin !== origin)
            throw new Error(`To log in, open this page at ${new URL(named).origin}/.`);
        const about = await firstOf(named !== undefined ? [named] : [well + pathname, well]);
        if (!about) throw new Error("The server does not say where to log in.");
        if (about.resource !== this.#resource) throw new Error(`The server says that it is ${line(about.resource, 200)}, which is not this one.`);
        return about;
    }

    async #offer({ issuer, clientId }, scopes, signal) {
        const metadata = await firstOf(metadataUrls(issuer));
        if (!metadata) throw new Error("its metadata cannot be read (does it allow the origin of this page?)");
        const fault = faultOf(metadata, issuer);
        if (fault) throw new Error(fault);
        const verifier = random(32), state = random(16), redirect = `${location.origin}/`;
        const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
        const url = new URL(metadata.authorization_endpoint);
        const params = {
            response_type: "code", client_id: clientId, redirect_uri: redirect, state, resource: this.#resource,
            code_challenge: base64url(new Uint8Array(hash)), code_challenge_method: "S256", ...(scopes.size && { scope: [...scopes].join(" ") }),
        };
        for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
        const done = this.#return({ state, issuer, metadata }, signal).then(code =>
            this.#exchange({ issuer, clientId, endpoint: metadata.token_endpoint }, { grant_type: "authorization_code", code, redirect_uri: redirect, code_verifier: verifier }))
            .then(() => (this.#asked = scopes));
        done.catch(() => {});
        return { issuer, url: url.href, done };
    }

    // Waits for the tab that comes back. Returns the code.
    #return(expected, signal) {
        const channel = new BroadcastChannel(CHANNEL);
        return new Promise((resolve, reject) => {
            signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
            channel.onmessage = ({ data }) => {
                if (data?.back?.state !== expected.state) return;
                const fault = responseFault(data.back, expected);
                channel.postMessage({ taken: expected.state, fault });
                if (fault) reject(new Error(fault));
                else resolve(data.back.code);
            };
        }).finally(() => channel.close());
    }

    async #exchange(at, params) {
        const { status, value } = await fetchJson(at.endpoint, {
            method: "POST", body: new URLSearchParams({ ...params, client_id: at.clientId, resource: this.#resource }),
        });
        if (status !== 200) throw Object.assign(new Error(`the issuer gave no token: ${line(value.error ?? status, 100)}`), { code: value.error });
        if (typeof value.access_token !== "string" || !/^[\x21-\x7e]{1,16384}$/.test(value.access_token) || String(value.token_type).toLowerCase() !== "bearer")
            throw new Error("the issuer gave no token that this page can use");
        const refresh = typeof value.refresh_token === "string" ? value.refresh_token : params.refresh_token;
        this.#grant = { ...at, token: value.access_token, refresh };
    }

    // Gets a new token for the one that is no longer accepted. Returns whether there is one. All requests that fail at
    // the same time wait for the same.
    renew() {
        this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
        return this.#renewing;
    }
    async #renew() {
        if (!this.#grant?.refresh) return false;
        const { token: _, refresh, ...at } = this.#grant;
        this.#grant.refresh = undefined; // it may be valid once only
        return this.#exchange(at, { grant_type: "refresh_token", refresh_token: refresh }).then(() => true, error => {
            if (error.code === undefined && this.#grant) this.#grant.refresh = refresh; // the issuer could not be reached
            return false;
        });
    }
}

// The parameters with which an issuer led back to the page, or undefined.
export function backFrom(search) {
    const query = new URLSearchParams(search);
    if (!query.has("state") || !query.has("code") && !query.has("error")) return undefined;
    return Object.fromEntries(["state", "code", "error", "iss"].filter(k => query.has(k)).map(k => [k, query.get(k)]));
}

// Passes them to the page that waits for them. Returns "" when it has taken them, otherwise why not.
export function passOn(back) {
    const channel = new BroadcastChannel(CHANNEL);
    return new Promise(resolve => {
        const late = setTimeout(() => resolve("no page waits for this login; it may have been closed"), 5000);
        channel.onmessage = ({ data }) => {
            if (data?.taken !== back.state) return;
            clearTimeout(late);
            resolve(data.fault ?? "");
        };
        channel.postMessage({ back });
    }).finally(() => channel.close());
}
