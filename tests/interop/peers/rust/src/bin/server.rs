//! A server on the official Rust SDK (rmcp); ../../../check.py says what all of these servers have.
//!
//! usage: server stdio|PORT
#![allow(deprecated)] // log messages

use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::transport::streamable_http_server::{
    session::local::LocalSessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::sleep;

static CANCELLED: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicU64 = AtomicU64::new(0);
const LIVE: &str = "mem://live";

#[derive(Clone)]
struct Noisy {
    stdio: bool,
}

fn made<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

fn said(text: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text.into())]).into())
}

async fn tell(context: &RequestContext<RoleServer>, progress: u64, total: u64) {
    if let Some(token) = context.meta.get_progress_token() {
        let params = ProgressNotificationParam::new(token, progress as f64).with_total(total as f64);
        let _ = context.peer.notify_progress(params).await;
    }
}

async fn slow(context: RequestContext<RoleServer>, steps: u64, tells: bool) -> Result<CallToolResponse, ErrorData> {
    for i in 1..=steps {
        tokio::select! {
            _ = context.ct.cancelled() => {
                CANCELLED.fetch_add(1, Relaxed);
                return said("cancelled");
            }
            _ = sleep(Duration::from_millis(100)) => {}
        }
        if tells {
            tell(&context, i, steps).await;
        }
    }
    said(format!("{steps} steps"))
}

impl Noisy {
    /// Writes a stray line, as println!() in a server on stdio does.
    fn stray(&self, line: &str) {
        if self.stdio {
            println!("{line}");
        }
    }

    async fn noise(&self, context: RequestContext<RoleServer>, lines: u64) -> Result<CallToolResponse, ErrorData> {
        for i in 1..=lines {
            eprintln!("noise {i} {}", ".".repeat(200));
            let params = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(format!("line {i}")));
            let _ = context.peer.notify_logging_message(params.with_logger("noise")).await;
            self.stray(&format!("Working on {i} ..."));
        }
        said("quiet again")
    }
}

impl ServerHandler for Noisy {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("noisy", "1"))
    }

    async fn list_resources(
        &self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources: Vec<Value> = ["text", "live", "slow"]
            .map(|name| json!({"uri": format!("mem://{name}"), "name": name, "mimeType": "text/plain"}))
            .into();
        made(json!({"resultType": "complete", "resources": resources}))
    }

    async fn list_resource_templates(
        &self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        made(json!({"resultType": "complete", "resourceTemplates": [
            {"uriTemplate": "mem://city/{name}", "name": "city", "mimeType": "text/plain"}]}))
    }

    async fn read_resource(
        &self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.to_string();
        let text = match uri.as_str() {
            "mem://text" => "one\ntwo\nthree\n".to_string(),
            LIVE => format!("{}\n", TICKS.load(Relaxed)),
            "mem://slow" => {
                sleep(Duration::from_millis(1500)).await;
                "slow\n".to_string()
            }
            _ => match uri.strip_prefix("mem://city/") {
                Some(name) => format!("This is {name}.\n"),
                None => return Err(ErrorData::resource_not_found("no such resource", None)),
            },
        };
        let result: ReadResourceResult = made(json!({"resultType": "complete", "contents": [
            {"uri": uri, "mimeType": "text/plain", "text": text}]}))?;
        Ok(result.into())
    }

    async fn complete(
        &self, request: CompleteRequestParams, _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let begin = request.argument.value.to_lowercase();
        let values: Vec<&str> =
            ["Berlin", "Bern", "Rome"].into_iter().filter(|c| c.to_lowercase().starts_with(&begin)).collect();
        made(json!({"resultType": "complete", "completion": {"values": values}}))
    }

    async fn list_prompts(
        &self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        made(json!({"resultType": "complete", "prompts": [
            {"name": "visit", "arguments": [{"name": "city", "required": true}]}]}))
    }

    async fn get_prompt(
        &self, request: GetPromptRequestParams, _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let text = format!("Plan a visit to {}.", arguments["city"].as_str().unwrap_or("nowhere"));
        let result: GetPromptResult = made(json!({"resultType": "complete", "messages": [
            {"role": "user", "content": {"type": "text", "text": text}}]}))?;
        Ok(result.into())
    }

    async fn list_tools(
        &self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &str, properties: Value| {
            json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
        };
        made(json!({"resultType": "complete", "tools": [
            tool("slow", json!({"steps": {"type": "integer"}, "tell": {"type": "boolean"}})),
            tool("noise", json!({"lines": {"type": "integer"}})),
            tool("cancelled", json!({})),
            tool("die", json!({}))]}))
    }

    async fn call_tool(
        &self, request: CallToolRequestParams, context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let number = |name: &str| arguments[name].as_u64().unwrap_or(0);
        match request.name.as_ref() {
            "slow" => slow(context, number("steps"), arguments["tell"] == true).await,
            "noise" => self.noise(context, number("lines")).await,
            "cancelled" => said(CANCELLED.load(Relaxed).to_string()),
            "die" => {
                tell(&context, 1, 2).await;
                eprintln!("this is the end");
                std::process::exit(3);
            }
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                _ = context.cancelled() => return Ok(()),
                _ = sleep(Duration::from_millis(200)) => {}
            }
            TICKS.fetch_add(1, Relaxed);
            let _ = context.sink().notify_resource_updated(LIVE).await;
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let way = std::env::args().nth(1).unwrap_or_default();
    if way == "stdio" {
        let noisy = Noisy { stdio: true };
        noisy.stray("Noisy MCP server 1.0, listening on stdio");
        noisy.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let service: StreamableHttpService<Noisy, LocalSessionManager> = StreamableHttpService::new(
        || Ok(Noisy { stdio: false }), Default::default(), StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{way}")).await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
