#!/usr/bin/env bash
# Alertmanager 0.35.0 (Go module): the function `title` of its templates makes small letters of all but the first of each word, and a word
# begins after a digit, too: CRDBNodeDown becomes Crdbnodedown, "HTTP 5xx" "Http 5Xx". Its documentation says strings.Title, "capitalises first
# character of each word", which keeps the others, as the function of that name in the templates of Prometheus does. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	alertmanager "github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
	prometheus "github.com/prometheus/prometheus/template"
)

func main() {
	templates, err := alertmanager.New()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"CRDBNodeDown", "HTTP 5xx of node 3", "low disk"} {
		there, err := prometheus.NewTemplateExpander(
			context.Background(), "{{ . | title }}", "title", name, model.Now(), nil, &url.URL{}, nil).Expand()
		if err != nil {
			panic(err)
		}
		here, err := templates.ExecuteTextString("{{ . | title }}", name)
		if err != nil {
			panic(err)
		}
		fmt.Printf("strings.Title: %s; Prometheus: %s; Alertmanager: %s\n", strings.Title(name), there, here)
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/alertmanager@v0.35.0 github.com/prometheus/prometheus@v0.305.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run .)
echo "$seen"
[ "$seen" = 'strings.Title: CRDBNodeDown; Prometheus: CRDBNodeDown; Alertmanager: Crdbnodedown
strings.Title: HTTP 5xx Of Node 3; Prometheus: HTTP 5Xx Of Node 3; Alertmanager: Http 5Xx Of Node 3
strings.Title: Low Disk; Prometheus: Low Disk; Alertmanager: Low Disk' ]
