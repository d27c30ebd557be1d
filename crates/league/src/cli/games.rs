//! `league games`: the games that a league can play, and the rules of one.

use std::io::Write;

use clap::Args;
use league_core::strategy;
use league_games::Listing;
use league_protocol::id::GameType;
use serde_json::{Value, json};

use crate::cli::failure::CommandError;
use crate::cli::text::paragraph;
use crate::cli::{Exit, Output};

/// List the games that a league can play, or print the rules and strategies of one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league games                       all games
  league games kuhn_poker            the rules and settings of one
  league games --output json         for programs, with the rules of each
  league run --game connect_four     play a league of it")]
pub(crate) struct GamesArgs {
    /// The game type
    name: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

impl GamesArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let games: Vec<&Listing> = match &self.name {
            None => league_games::all().iter().collect(),
            Some(name) => vec![league_games::find(name).ok_or_else(|| unknown(name))?],
        };
        let width = games.iter().map(|game| game.rules.game_type.len()).max();
        for game in games {
            match self.output {
                Output::Json => writeln!(out, "{}", object(game))?,
                Output::Text if self.name.is_some() => rules(game, out)?,
                Output::Text => {
                    let (game_type, width) = (game.rules.game_type, width.unwrap_or(0));
                    writeln!(out, "{game_type:width$}  {}", game.rules.display_name)?;
                }
            }
        }
        Ok(Exit::Yes)
    }
}

fn rules(game: &Listing, out: &mut impl Write) -> Result<(), CommandError> {
    let rules = &game.rules;
    writeln!(out, "{} ({})", rules.display_name, rules.game_type)?;
    for part in rules.rules_text.lines() {
        writeln!(out, "\n{}", paragraph("", 0, part))?;
    }
    let settings = (game.default_settings)();
    if settings.as_object().is_some_and(|keys| !keys.is_empty()) {
        writeln!(out, "\nsettings, with their defaults: {settings}")?;
    }
    if let Ok(game_type) = GameType::new(rules.game_type) {
        let known = format!("strategies: {}", strategy::names_for(&game_type));
        writeln!(out, "\n{}", paragraph("", 0, &known))?;
    }
    writeln!(
        out,
        "\nplay it with `league run --game {}`",
        rules.game_type
    )?;
    Ok(())
}

fn object(game: &Listing) -> Value {
    let rules = &game.rules;
    json!({
        "game_type": rules.game_type,
        "display_name": rules.display_name,
        "move_type": rules.move_type,
        "valid_choices": rules.valid_choices,
        "settings": (game.default_settings)(),
        "sides_matter": rules.sides_matter,
        "hidden_moves": rules.hidden_moves,
        "simultaneous": rules.simultaneous,
        "max_moves": rules.max_moves,
        "rules": rules.rules_text,
    })
}

fn unknown(name: &str) -> CommandError {
    CommandError::usage(
        format!("could not print the rules of `{}`", name.escape_debug()),
        "there is no such game",
        "list the games with `league games`",
    )
}
