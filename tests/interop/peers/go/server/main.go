// A server on the official Go SDK; ../../check.py says what all of these servers have.
//
// usage: server stdio|PORT
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	way       = os.Args[1]
	cities    = []string{"Berlin", "Bern", "Rome"}
	cancelled atomic.Int64
	ticks     atomic.Int64
)

// Writes a stray line, as fmt.Println() in a server on stdio does.
func stray(line string) {
	if way == "stdio" {
		fmt.Println(line)
	}
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func addResource(s *mcp.Server, name string, text func() string) {
	s.AddResource(&mcp.Resource{URI: "mem://" + name, Name: name, MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return contents(r.Params.URI, text()), nil
		})
}

func contents(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func addResources(s *mcp.Server) {
	addResource(s, "text", func() string { return "one\ntwo\nthree\n" })
	addResource(s, "live", func() string { return fmt.Sprintf("%d\n", ticks.Load()) })
	addResource(s, "slow", func() string {
		time.Sleep(1500 * time.Millisecond)
		return "slow\n"
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "mem://city/{name}", Name: "city", MIMEType: "text/plain"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return contents(r.Params.URI, "This is "+strings.TrimPrefix(r.Params.URI, "mem://city/")+".\n"), nil
		})
}

func complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, city := range cities {
		if strings.HasPrefix(strings.ToLower(city), strings.ToLower(r.Params.Argument.Value)) {
			values = append(values, city)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}

func tell(ctx context.Context, r *mcp.CallToolRequest, progress, total int) error {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(progress), Total: float64(total)})
}

type steps struct {
	Steps int  `json:"steps"`
	Tell  bool `json:"tell"`
}

func slow(ctx context.Context, r *mcp.CallToolRequest, args steps) (*mcp.CallToolResult, any, error) {
	for i := 1; i <= args.Steps; i++ {
		select {
		case <-ctx.Done():
			cancelled.Add(1)
			return nil, nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if args.Tell {
			if err := tell(ctx, r, i, args.Steps); err != nil {
				return nil, nil, err
			}
		}
	}
	return said(fmt.Sprintf("%d steps", args.Steps)), nil, nil
}

type lines struct {
	Lines int `json:"lines"`
}

func noise(ctx context.Context, r *mcp.CallToolRequest, args lines) (*mcp.CallToolResult, any, error) {
	for i := 1; i <= args.Lines; i++ {
		fmt.Fprintf(os.Stderr, "noise %d %s\n", i, strings.Repeat(".", 200))
		err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "noise", Data: fmt.Sprintf("line %d", i)})
		if err != nil {
			return nil, nil, err
		}
		stray(fmt.Sprintf("Working on %d ...", i))
	}
	return said("quiet again"), nil, nil
}

func addTools(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, slow)
	mcp.AddTool(s, &mcp.Tool{Name: "noise"}, noise)
	mcp.AddTool(s, &mcp.Tool{Name: "cancelled"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return said(fmt.Sprint(cancelled.Load())), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "die"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			_ = tell(ctx, r, 1, 2)
			fmt.Fprintln(os.Stderr, "this is the end")
			os.Exit(3)
			return nil, nil, nil
		})
}

func visit(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := "Plan a visit to " + r.Params.Arguments["city"] + "."
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
}

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "noisy", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addResources(s)
	addTools(s)
	s.AddPrompt(&mcp.Prompt{Name: "visit", Arguments: []*mcp.PromptArgument{{Name: "city", Required: true}}}, visit)
	go func() {
		for range time.Tick(200 * time.Millisecond) {
			ticks.Add(1)
			_ = s.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "mem://live"})
		}
	}()
	var err error
	if way == "stdio" {
		stray("Noisy MCP server 1.0, listening on stdio")
		err = s.Run(context.Background(), &mcp.StdioTransport{})
	} else {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
		err = http.ListenAndServe("127.0.0.1:"+way, handler)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
