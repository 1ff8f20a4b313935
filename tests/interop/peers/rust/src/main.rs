//! The official Rust SDK (rmcp) as a client of mcpd, over stdio and Streamable HTTP.
//!
//! usage: peer ROOT URL MCPD ARGUMENT...      ROOT is a folder that ../run made; prints TAP

use base64::{engine::general_purpose::STANDARD, Engine};
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams, ResourceContents};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::ServiceExt;
use std::collections::HashSet;

type Client = RunningService<RoleClient, ()>;
type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn read(client: &Client, uri: &str) -> Result<ResourceContents, Box<dyn std::error::Error>> {
    let mut contents = client.read_resource(ReadResourceRequestParams::new(uri)).await?.contents;
    if contents.len() != 1 {
        return Err(format!("{} contents", contents.len()).into());
    }
    Ok(contents.remove(0))
}

async fn want_text(client: &Client, uri: &str, wanted: &str) -> Outcome {
    match read(client, uri).await? {
        ResourceContents::TextResourceContents { text, .. } if text == wanted => Ok(()),
        other => Err(format!("{uri} is {other:?}").into()),
    }
}

async fn lists(client: &Client, root: &str) -> Outcome {
    let all = client.list_all_resources().await?;
    let uris: HashSet<_> = all.iter().map(|r| r.uri.to_string()).collect();
    let readme = format!("file://{root}/README.md");
    if uris.len() != all.len() || uris.len() <= 1200 || !uris.contains(&readme) {
        return Err(format!("{} resources, {} URIs", all.len(), uris.len()).into());
    }
    Ok(())
}

async fn reads(client: &Client, root: &str) -> Outcome {
    let readme = std::fs::read_to_string(format!("{root}/README.md"))?;
    want_text(client, &format!("file://{root}/README.md"), &readme).await?;
    want_text(client, &format!("file://{root}/empty.txt"), "").await?;
    let wanted = std::fs::read(format!("{root}/blob.bin"))?;
    match read(client, &format!("file://{root}/blob.bin")).await? {
        ResourceContents::BlobResourceContents { blob, .. } if STANDARD.decode(&blob)? == wanted => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

async fn parts(client: &Client, root: &str) -> Outcome {
    want_text(client, &format!("file://{root}/lines.txt?line=3&lines=2"), "line 3\nline 4\n").await
}

async fn completes(client: &Client, root: &str) -> Outcome {
    let template = client.list_all_resource_templates().await?.remove(0).uri_template.to_string();
    let values = client.complete_resource_simple(template, "path", format!("{root}/READ")).await?;
    if values.len() == 1 { Ok(()) } else { Err(format!("{values:?}").into()) }
}

async fn refuses(client: &Client, root: &str) -> Outcome {
    match read(client, &format!("file://{root}/nothing")).await {
        Err(_) => Ok(()),
        Ok(_) => Err("a resource that is not there was read".into()),
    }
}

async fn calls(client: &Client, root: &str) -> Outcome {
    let mut arguments = serde_json::Map::new();
    arguments.insert("uri".into(), format!("file://{root}/lines.txt?line=3&lines=2").into());
    let mut params = CallToolRequestParams::new("read_resource");
    params.arguments = Some(arguments);
    let result = serde_json::to_string(&client.call_tool(params).await?)?;
    if result.contains("line 4") && !result.contains("\"isError\":true") { Ok(()) } else { Err(result.into()) }
}

struct Tap {
    count: usize,
    failed: bool,
}

impl Tap {
    fn report(&mut self, name: &str, outcome: Outcome) {
        self.count += 1;
        match outcome {
            Ok(()) => println!("ok {} - {name}", self.count),
            Err(e) => {
                self.failed = true;
                println!("not ok {} - {name}: {}", self.count, e.to_string().replace('\n', " "));
            }
        }
    }
}

async fn check_all(tap: &mut Tap, label: &str, client: Client, root: &str) {
    tap.report(&format!("{label}: lists"), lists(&client, root).await);
    tap.report(&format!("{label}: reads"), reads(&client, root).await);
    tap.report(&format!("{label}: parts"), parts(&client, root).await);
    tap.report(&format!("{label}: completes"), completes(&client, root).await);
    tap.report(&format!("{label}: refuses"), refuses(&client, root).await);
    tap.report(&format!("{label}: calls"), calls(&client, root).await);
    tap.report(&format!("{label}: ends"), client.cancel().await.map(|_| ()).map_err(|e| e.into()));
}

#[tokio::main]
async fn main() -> Outcome {
    let args: Vec<String> = std::env::args().collect();
    let mut tap = Tap { count: 0, failed: false };
    let mut command = tokio::process::Command::new(&args[3]);
    command.args(&args[4..]);
    let stdio = ().serve(TokioChildProcess::new(command)?).await?;
    check_all(&mut tap, "rmcp stdio", stdio, &args[1]).await;
    let http = ().serve(StreamableHttpClientTransport::from_uri(args[2].as_str())).await?;
    check_all(&mut tap, "rmcp HTTP", http, &args[1]).await;
    println!("1..{}", tap.count);
    std::process::exit(tap.failed as i32);
}
