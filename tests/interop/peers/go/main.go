// The official Go SDK as a client of mcpd, over stdio and Streamable HTTP.
//
// usage: peer ROOT URL MCPD ARGUMENT...      ROOT is a folder that ../run made; prints TAP
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	root    = os.Args[1]
	updates = make(chan string, 16)
	count   int
	failed  bool
)

func report(name string, err error) {
	count++
	if err != nil {
		failed = true
		fmt.Printf("not ok %d - %s: %s\n", count, name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Printf("ok %d - %s\n", count, name)
}

func read(ctx context.Context, s *mcp.ClientSession, uri string) (*mcp.ResourceContents, error) {
	result, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, err
	}
	if len(result.Contents) != 1 {
		return nil, fmt.Errorf("%d contents", len(result.Contents))
	}
	return result.Contents[0], nil
}

func wantText(ctx context.Context, s *mcp.ClientSession, uri, text string) error {
	content, err := read(ctx, s, uri)
	if err == nil && content.Text != text {
		err = fmt.Errorf("%s is %q", uri, content.Text)
	}
	return err
}

func lists(ctx context.Context, s *mcp.ClientSession) error {
	seen := map[string]bool{}
	for r, err := range s.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		if seen[r.URI] {
			return fmt.Errorf("%s comes twice", r.URI)
		}
		seen[r.URI] = true
	}
	if len(seen) <= 1200 || !seen["file://"+root+"/README.md"] {
		return fmt.Errorf("%d resources", len(seen))
	}
	return nil
}

func reads(ctx context.Context, s *mcp.ClientSession) error {
	whole, err := os.ReadFile(root + "/README.md")
	if err != nil {
		return err
	}
	if err := wantText(ctx, s, "file://"+root+"/README.md", string(whole)); err != nil {
		return err
	}
	if err := wantText(ctx, s, "file://"+root+"/empty.txt", ""); err != nil {
		return err
	}
	wanted, err := os.ReadFile(root + "/blob.bin")
	if err != nil {
		return err
	}
	content, err := read(ctx, s, "file://"+root+"/blob.bin")
	if err == nil && !bytes.Equal(content.Blob, wanted) {
		err = fmt.Errorf("%d bytes of %d", len(content.Blob), len(wanted))
	}
	return err
}

func parts(ctx context.Context, s *mcp.ClientSession) error {
	return wantText(ctx, s, "file://"+root+"/lines.txt?line=3&lines=2", "line 3\nline 4\n")
}

func completes(ctx context.Context, s *mcp.ClientSession) error {
	for t, err := range s.ResourceTemplates(ctx, nil) {
		if err != nil {
			return err
		}
		result, err := s.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: t.URITemplate},
			Argument: mcp.CompleteParamsArgument{Name: "path", Value: root + "/READ"},
		})
		if err == nil && len(result.Completion.Values) != 1 {
			err = fmt.Errorf("%v", result.Completion.Values)
		}
		return err
	}
	return fmt.Errorf("no templates")
}

func refuses(ctx context.Context, s *mcp.ClientSession) error {
	if _, err := read(ctx, s, "file://"+root+"/nothing"); err == nil {
		return fmt.Errorf("a resource that is not there was read")
	}
	return nil
}

func calls(ctx context.Context, s *mcp.ClientSession) error {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{
		Name: "read_resource", Arguments: map[string]any{"uri": "file://" + root + "/lines.txt?line=3&lines=2"}})
	if err != nil {
		return err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if result.IsError || !ok || !strings.Contains(text.Text, "line 4") {
		return fmt.Errorf("%v", result.Content)
	}
	return nil
}

func updated(ctx context.Context, s *mcp.ClientSession) error {
	uri := "file://" + root + "/live.txt"
	if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		return err
	}
	// Subscribe does not wait until the server has acknowledged, so one change may come too early.
	deadline := time.After(20 * time.Second)
	for {
		if err := os.WriteFile(root+"/live.txt", []byte(time.Now().String()), 0o600); err != nil {
			return err
		}
		select {
		case got := <-updates:
			if got != uri {
				return fmt.Errorf("%s was updated", got)
			}
			return s.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
		case <-time.After(500 * time.Millisecond):
		case <-deadline:
			return fmt.Errorf("no notice")
		}
	}
}

func checkAll(label string, transport mcp.Transport) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			updates <- r.Params.URI
		},
	})
	s, err := client.Connect(ctx, transport, nil)
	report(label+": connects", err)
	if err != nil {
		return
	}
	defer s.Close()
	for _, check := range []struct {
		name string
		run  func(context.Context, *mcp.ClientSession) error
	}{{"lists", lists}, {"reads", reads}, {"parts", parts}, {"completes", completes}, {"refuses", refuses},
		{"calls", calls}, {"updated", updated}} {
		report(label+": "+check.name, check.run(ctx, s))
	}
}

func main() {
	checkAll("go stdio", &mcp.CommandTransport{Command: exec.Command(os.Args[3], os.Args[4:]...)})
	checkAll("go HTTP", &mcp.StreamableClientTransport{Endpoint: os.Args[2]})
	fmt.Printf("1..%d\n", count)
	if failed {
		os.Exit(1)
	}
}
