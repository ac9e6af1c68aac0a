// Renders a Helm chart with the template engine that Helm uses: Go's text/template with Sprig. It is not Helm itself.
// Arguments: the folder of the chart, and a file with the values as JSON. Prints the files as JSON.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/ghodss/yaml"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	chartFolder := os.Args[1]
	var data map[string]interface{}
	input, err := os.ReadFile(os.Args[2])
	must(err)
	must(json.Unmarshal(input, &data))

	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// Helm removes these, so that a chart does not depend on the machine.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		must(err)
		return strings.TrimSuffix(string(text), "\n")
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	root.Funcs(functions)

	files, err := filepath.Glob(filepath.Join(chartFolder, "templates", "*"))
	must(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = root.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	rendered := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		must(root.ExecuteTemplate(&text, name, data))
		// As in Helm.
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	must(json.NewEncoder(os.Stdout).Encode(rendered))
}
