#!/usr/bin/env bash
# @grafana/grafana-foundation-sdk 0.0.21 (npm) and the same SDK for Go 0.0.22: a panel that says nothing of its legend is written with
# `showLegend: false`, where Grafana shows one, and so is a legend of which only the calculations or the place are set: they are seen nowhere.
# The tooltips of one are sorted upwards, those of the other have the mode "", which is none of Grafana's. Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" @grafana/grafana-foundation-sdk@0.0.21 >/dev/null
cat >build.cjs <<'END'
const { VizLegendOptionsBuilder } = require('@grafana/grafana-foundation-sdk/common');
const { PanelBuilder } = require('@grafana/grafana-foundation-sdk/timeseries');
const legend = () => new VizLegendOptionsBuilder().placement('right').calcs(['mean']);
for (const panel of [new PanelBuilder(), new PanelBuilder().legend(legend()), new PanelBuilder().legend(legend().showLegend(true))]) {
  console.log(JSON.stringify(panel.build().options));
}
END
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	legend := func() *common.VizLegendOptionsBuilder {
		return common.NewVizLegendOptionsBuilder().Placement("right").Calcs([]string{"mean"})
	}
	for _, builder := range []*timeseries.PanelBuilder{
		timeseries.NewPanelBuilder(), timeseries.NewPanelBuilder().Legend(legend()), timeseries.NewPanelBuilder().Legend(legend().ShowLegend(true)),
	} {
		panel, err := builder.Build()
		if err != nil {
			panic(err)
		}
		text, _ := json.Marshal(panel.Options)
		fmt.Println(string(text))
	}
}
END
go mod init x 2>/dev/null
go get github.com/grafana/grafana-foundation-sdk/go@v0.0.22 2>/dev/null
go mod tidy 2>/dev/null
seen=$(node build.cjs; go run .)
echo "$seen"
[ "$seen" = '{"legend":{"displayMode":"list","placement":"bottom","showLegend":false,"calcs":[]},"tooltip":{"mode":"single","sort":"asc"}}
{"legend":{"displayMode":"list","placement":"right","showLegend":false,"calcs":["mean"]},"tooltip":{"mode":"single","sort":"asc"}}
{"legend":{"displayMode":"list","placement":"right","showLegend":true,"calcs":["mean"]},"tooltip":{"mode":"single","sort":"asc"}}
{"legend":{"displayMode":"list","placement":"bottom","showLegend":false,"calcs":[]},"tooltip":{"mode":"","sort":""}}
{"legend":{"displayMode":"list","placement":"right","showLegend":false,"calcs":["mean"]},"tooltip":{"mode":"","sort":""}}
{"legend":{"displayMode":"list","placement":"right","showLegend":true,"calcs":["mean"]},"tooltip":{"mode":"","sort":""}}' ]
