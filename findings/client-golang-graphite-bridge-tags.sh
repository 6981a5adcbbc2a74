#!/usr/bin/env bash
# client_golang 1.25.0 (Go): its bridge to Graphite writes label values as tags without a change: a space makes a line of four fields, of which
# Graphite reads none, an empty label a tag without a value, which carbon 1.1.10 refuses. Without tags, a.b and a_b are one path, twice in one
# push, and an empty label leaves a path that ends in a dot. Push reports no error. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/graphite"
)

func main() {
	registry := prometheus.NewRegistry()
	used := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "used"}, []string{"disk"})
	for number, disk := range []string{"a.b", "a_b", "", "Program Files"} {
		used.WithLabelValues(disk).Set(float64(number))
	}
	registry.MustRegister(used)
	for _, tags := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		text := make(chan []byte)
		go func() {
			connection, _ := listener.Accept()
			received, _ := io.ReadAll(connection)
			text <- received
		}()
		bridge, err := graphite.NewBridge(&graphite.Config{URL: listener.Addr().String(), Gatherer: registry, UseTags: tags})
		if err != nil {
			panic(err)
		}
		err = bridge.Push()
		fmt.Printf("tags %v, error %v:\n%s", tags, err, <-text)
	}
}
END
go mod init x 2>/dev/null
go get github.com/prometheus/client_golang@v1.25.0 2>/dev/null
go mod tidy 2>/dev/null
seen=$(go run . | sed 's/ [0-9]*$/ TIME/')
echo "$seen"
[ "$seen" = 'tags true, error <nil>:
used;disk= 2 TIME
used;disk=Program Files 3 TIME
used;disk=a.b 0 TIME
used;disk=a_b 1 TIME
tags false, error <nil>:
used.disk. 2 TIME
used.disk.Program.Files 3 TIME
used.disk.a_b 0 TIME
used.disk.a_b 1 TIME' ]
