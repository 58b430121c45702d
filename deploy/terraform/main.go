// The Terraform provider of Antipode. Everything that it knows of the API is in
// internal/provider/schema.json, which schema.ts makes from the API document.
package main

import (
	"context"
	"log"

	"antipode.example/terraform-provider-antipode/internal/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

const address = "antipode.example/antipode/antipode"

func main() {
	options := providerserver.ServeOpts{Address: address}
	if err := providerserver.Serve(context.Background(), provider.New, options); err != nil {
		log.Fatal(err)
	}
}
