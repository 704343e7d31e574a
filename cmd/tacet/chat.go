package main

import "github.com/spf13/cobra"

func chatCommand(a *app) *cobra.Command { return &cobra.Command{Use: "chat"} }
