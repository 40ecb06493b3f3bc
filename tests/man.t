#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages against the programs' own tables: verbs, options, fields and properties, both ways. TAP; B is the
# build directory. Runs from the top directory.
use strict;
use warnings;
use Test::More;

my $B = $ENV{B} || 'build';
my $vnicadm = $ENV{VNICADM} || "$B/vnicadm/vnicadm";
my $vnicd = $ENV{VNICD_UNDER_TEST} || "$B/vnicd/vnicd";
-x $_ or BAIL_OUT("no $_: build it first") for $vnicadm, $vnicd;

sub slurp {
	open my $file, '<', $_[0] or BAIL_OUT("$_[0]: $!");
	return join '', <$file>;
}

# A page's section, by its title.
sub section {
	my ($page, $macro, $title) = @_;
	return $page =~ /^\.$macro \Q$title\E\n(.*?)(?=^\.S[hs] |\z)/ms ? $1 : '';
}

sub same {
	my ($got, $want, $title) = @_;
	is_deeply([sort @$got], [sort @$want], $title) or diag("page: @{[sort @$got]}\nprogram: @{[sort @$want]}");
}

sub unique { my %seen; return grep { !$seen{$_}++ } @_ }

my $page = slurp('man/vnicadm.8');
my $synopsis = section($page, 'Sh', 'SYNOPSIS');
my $commands = section($page, 'Ss', 'Commands');
my $help = qx($vnicadm help);
my @verbs = $help =~ /^  ([a-z]+-?[a-z]*)\b/mg;

same([unique($synopsis =~ /^\.Nm\n\.Cm ([a-z-]+)$/mg)], \@verbs, 'vnicadm.8: SYNOPSIS has the verbs of the program');
same([$commands =~ /^\.It Cm ([a-z-]+)$/mg], \@verbs, 'vnicadm.8: Commands has the verbs of the program');

# What the synopsis says of a verb, all its forms together.
sub forms { return join '', $synopsis =~ /^\.Nm\n\.Cm \Q$_[0]\E\n(.*?)(?=^\.Nm$|\z)/msg }

my %long;
for my $verb (grep { $_ ne 'help' } @verbs) {
	my $text = qx($vnicadm help $verb);
	my %flags = $text =~ /^  -([a-zA-Z]), --([a-z-]+)/mg;

	delete $flags{h};
	same([unique(forms($verb) =~ /\bFl ([a-zA-Z])\b/g)], [keys %flags], "vnicadm.8: SYNOPSIS has the options of $verb");
	$long{"$_ $flags{$_}"} = 1 for keys %flags;
}
my %described = map { $_ => 1 } $page =~ /\bFl ([a-zA-Z] , Fl Fl [a-z-]+)/g;
delete @described{'h , Fl Fl help', 'b , Fl Fl batch'};
same([map { s/ , Fl Fl / /r } keys %described], [keys %long], 'vnicadm.8: each option is described, short and long');
same([section($page, 'Sh', 'DESCRIPTION') =~ /^\.It (?:Fl [bh] , )?Fl Fl ([a-z]+)/mg],
	[$help =~ /^  (?:-[a-z], )?--([a-z]+)/mg], 'vnicadm.8: options before the command');

# -o with an unknown field is told the known ones.
my $output = section($page, 'Ss', 'Output');
for my $show ('show-link', 'show-link -s', 'show-phys', 'show-vnic', 'show-etherstub', 'show-linkprop') {
	my $item = $show =~ s/ -(.)/ Fl $1/r;
	my ($of) = $output =~ /^\.It Cm \Q$item\E\n(.*?)(?=^\.It|^\.El|\.\n\.Li|\z)/ms;
	my ($known) = qx($vnicadm $show -o nosuchfield 2>&1) =~ /all or some of ([a-z_,]+)/;

	same([map { lc } ($of // '') =~ /\b([A-Z_]{2,})\b/g], [split /,/, $known // ''], "vnicadm.8: fields of $show");
}

my @rows = slurp('lib/model/linkprop.c') =~ /\[PROP_[A-Z_]+\]\s*=\s*\{\s*\.name = "([a-z-]+)"/g;
my ($properties) = section($page, 'Ss', 'Properties');
1 while $properties =~ s/(^\.It .*?)^\.Bl (?:(?!^\.[BE]l).)*^\.El\n/$1/ms;	# lists within the list
cmp_ok(scalar @rows, '>', 3, 'the property rows are found');
same([map { split / , / } $properties =~ /^\.It Cm (.*)$/mg], \@rows, 'vnicadm.8: Properties has the rows of the program');

# Statuses are part of what scripts rely on.
for my $name ('vnicadm', 'vnicd') {
	my $text = slurp("man/$name.8");

	for my $title ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'ENVIRONMENT', 'FILES', 'SEE ALSO') {
		ok(section($text, 'Sh', $title) ne '', "$name.8: $title");
	}
	like(section($text, 'Sh', 'EXIT STATUS'), qr/^\.It 0\n.*^\.It 1\n.*^\.It 2\n/ms, "$name.8: EXIT STATUS");
	like(section($text, 'Sh', 'EXAMPLES'), qr/^(?:\.Dl |\.Bd )/m, "$name.8: EXAMPLES");
}

$page = slurp('man/vnicd.8');
my @options = qx($vnicd --help) =~ /^  --([a-z-]+)/mg;
same([unique(section($page, 'Sh', 'SYNOPSIS') =~ /Fl Fl ([a-z-]+)/g)], \@options, 'vnicd.8: SYNOPSIS has the options');
same([section($page, 'Sh', 'DESCRIPTION') =~ /^\.It Fl Fl ([a-z-]+)/mg], \@options, 'vnicd.8: each option is described');
for my $default (qx($vnicd --help) =~ /\(default (\S+?)\)/g) {
	like($page, qr/^\.Pa \Q$default\E\b/m, "vnicd.8: the default $default");
}
done_testing();
