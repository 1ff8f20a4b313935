// Lists the servers.
const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
history.replaceState(null, "", "/");

async function ask(path, body, secret) {
  const headers = { "Content-Type": "application/json" };
  if (secret) headers.Authorization = `Bearer ${secret}`;
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.message);
  return value;
}

async function start() {
  const { secret } = await ask("/web/secret", { code: code ?? "" });
  const about = await ask("/web/about", {}, secret);
  document.querySelector("#state").textContent = `Version ${about.version}`;
  for (const server of about.servers) {
    const item = document.createElement("li");
    item.textContent = server.title;
    document.querySelector("#servers").append(item);
  }
}

start().catch((error) => {
  document.querySelector("#state").textContent = error.message;
});
